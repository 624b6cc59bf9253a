"""Tables of the catalog. Rows carry the types as JSON, and beside it only what is searched, sorted or changed alone."""

from __future__ import annotations

from sqlalchemy import Column, Integer, MetaData, String, Table, Text

VERSION = 1

metadata = MetaData()

# `live` is the revision that readers see; `recipe` and the hash in `source` are those of that revision.
sources = Table(
    "sources",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("talk", String(255), index=True),
    Column("source", Text, nullable=False),
    Column("status", String(16), nullable=False),
    Column("live", String(36)),
    Column("recipe", Text, nullable=False, default=""),
    Column("segments", Integer, nullable=False, default=0),
    Column("chunks", Integer, nullable=False, default=0),
    Column("pages", Integer, nullable=False, default=0),
    Column("dropped", Text, nullable=False, default="[]"),
    Column("error", Text),
    Column("updated", String(32), nullable=False),
)

talks = Table("talks", metadata, Column("id", String(255), primary_key=True), Column("talk", Text, nullable=False))

articles = Table(
    "articles",
    metadata,
    Column("slug", String(255), primary_key=True),
    Column("lang", String(8), primary_key=True),
    Column("article", Text, nullable=False),
)

gaps = Table(
    "gaps",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("gap", Text, nullable=False),
    Column("times", Integer, nullable=False),
    Column("asked_at", String(32), nullable=False),
)

ratings = Table(
    "ratings",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("feedback", Text, nullable=False),
    Column("rated_at", String(32), nullable=False),
)

# What people decided about wordings of transcripts; `scope` is a source id, or empty for the whole library.
decisions = Table(
    "decisions",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("scope", String(36), nullable=False, index=True),
    Column("decision", Text, nullable=False),
    Column("decided_at", String(32), nullable=False),
)

# `schema`: version of these tables. `generation`: counts the switches of live revisions, so that other processes see.
# `decided`, `applied`: count the decisions, and those that transcripts are corrected by.
meta = Table("meta", metadata, Column("key", String(32), primary_key=True), Column("value", Integer, nullable=False))
