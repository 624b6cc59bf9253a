"""The catalog's database: connections, transactions, the version of its schema."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kb.errors import IndexMismatch, StorageFailed

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, Row


_DAMAGED = ("malformed", "not a database")  # as SQLite words it


class Database:
    """Transactions on any database of SQLAlchemy; on SQLite in WAL mode, where readers and one writer go together.

    Raises:
        StorageFailed: from every method, if it cannot be opened, read or written.
        IndexMismatch: from the constructor, if another version of the schema wrote it.
    """

    def __init__(self, url: str) -> None:
        self._engine = _connect(url)
        try:
            self._prepare()
        except BaseException:
            self._engine.dispose()
            raise

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self._told(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        with self._told(), self._engine.execution_options(writes=True).begin() as connection:
            yield connection

    def rows(self, table: str, **key: str) -> list[Row[Any]]:
        """All rows of a table, or those with the given values."""
        with self.reading() as connection:
            return rows(connection, table, **key)

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Name what hinders the database as an error of ours."""
        from sqlalchemy.exc import DatabaseError

        try:
            yield
        except DatabaseError as error:
            is_damaged = any(sign in str(error.orig) for sign in _DAMAGED)
            raise StorageFailed(
                f"the catalog cannot be {'read' if is_damaged else 'used'} ({error.orig})",
                where=self._where,
                remedy="Restore it from a backup, or move it away and add the sources again"
                if is_damaged
                else "Make room on the disk, and grant the right to write in its folder; reading needs that, too",
            ) from error

    @property
    def _where(self) -> str:
        url = self._engine.url
        return url.database if url.get_backend_name() == "sqlite" and url.database else url.render_as_string()

    def _prepare(self) -> None:
        from sqlalchemy import inspect

        from index.schema import VERSION, meta, metadata

        with self.writing() as connection:
            is_new = not inspect(connection).has_table("meta")
            metadata.create_all(connection)  # also tables that an earlier version of the product did not have
            if is_new:
                start = [{"key": "schema", "value": VERSION}, {"key": "generation", "value": 0}]
                connection.execute(meta.insert(), start)
            version = rows(connection, "meta", key="schema")[0].value
        if version != VERSION:
            raise IndexMismatch(
                f"the catalog has the schema {version}, this version of the product knows {VERSION}",
                where=self._where,
                remedy="Use the version that wrote it, or move it away and add the sources again",
            )


def rows(connection: Connection, table: str, **key: str) -> list[Row[Any]]:
    """All rows of a table, or those with the given values."""
    from index.schema import metadata

    columns = metadata.tables[table].c
    query = metadata.tables[table].select().where(*(columns[name] == value for name, value in key.items()))
    return list(connection.execute(query))


def put(connection: Connection, table: str, key: Mapping[str, str], values: Mapping[str, Any]) -> None:
    """Update the row with this key, or insert it."""
    from index.schema import metadata

    at = metadata.tables[table]
    this = (at.c[name] == value for name, value in key.items())
    if not connection.execute(at.update().where(*this).values(**values)).rowcount:
        connection.execute(at.insert().values(**key, **values))


def delete(connection: Connection, table: str, **key: str) -> None:
    from index.schema import metadata

    at = metadata.tables[table]
    connection.execute(at.delete().where(*(at.c[name] == value for name, value in key.items())))


def _connect(url: str) -> Engine:
    from sqlalchemy import create_engine, event

    engine = create_engine(url)
    if engine.dialect.name != "sqlite":
        return engine

    @event.listens_for(engine, "connect")
    def configure(connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None  # the driver must not begin transactions on its own, see `begin`
        connection.execute("PRAGMA busy_timeout = 30000")
        connection.execute("PRAGMA journal_mode = WAL")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A writer takes its lock at once: one that turned from reading to writing would fail, not wait.
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine
