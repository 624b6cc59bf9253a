"""How results look in a terminal, and how they look in a pipe: there, tables are tab-separated and nothing is cut."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from api.base import MarkedHit
    from kb.types import (
        Answer,
        Article,
        Citation,
        Document,
        Dropped,
        Gap,
        Mark,
        Page,
        Source,
        SourceEntry,
        Talk,
        Time,
    )

out = Console(highlight=False, emoji=False, markup=False)
err = Console(stderr=True, highlight=False, emoji=False, markup=False)


def say(text: str | Text = "", *, indent: int = 0) -> None:
    """Print text; a terminal wraps it with its indent, a pipe gets the line whole."""
    shown = visible(text) if isinstance(text, str) else text
    if out.is_terminal:
        out.print(Padding(shown, (0, 0, 0, indent)) if indent else shown)
    else:
        _write(" " * indent + str(shown).replace("\n", "\n" + " " * indent))


def note(text: str, style: str = "") -> None:
    """Print a remark beside the results, on stderr."""
    err.print(Text(visible(text), style=style), soft_wrap=True)


def visible(text: str) -> str:
    """`text` without what would steer a terminal, or what no encoding has: control, direction, half characters."""
    return "".join(c if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs") else "�" for c in text)


def _write(line: str) -> None:
    """A line as it is: Rich would turn tabs into blanks."""
    out.file.write(line + "\n")


def table(columns: Sequence[str], rows: Iterable[Sequence[str | int | Text]], *, numbers: Sequence[str] = ()) -> None:
    """A table; `numbers` names the columns that stand to the right."""
    if not out.is_terminal:
        for row in (columns, *rows):
            _write("\t".join(" ".join(visible(str(cell)).split()) for cell in row))
        return
    grid = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    for column in columns:
        grid.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(cell if isinstance(cell, Text) else visible(str(cell)) for cell in row))
    out.print(grid)


# --- places -------------------------------------------------------------------------------------------------------


def place(locator: Time | Page | Mark) -> str:
    """A locator as a person reads it."""
    if locator.type == "time":
        return f"{_moment(locator.start_ms)}–{_moment(locator.end_ms)}"
    if locator.type == "page":
        return f"page {locator.number}" + (f" ({locator.label})" if locator.label else "")
    first, last = locator.line_start, locator.line_end
    lines = f"line {first}" if first == last else f"lines {first}–{last}"
    return " › ".join((*locator.heading_path[-2:], lines))


def _moment(milliseconds: int) -> str:
    minutes, seconds = divmod(milliseconds // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def readable(href: str, locator: Time | Page | Mark) -> str:
    """A link as text: a web address as it is, a local file as a path, with the line that an editor understands."""
    parts = urlsplit(href)
    if parts.scheme != "file":
        return href
    path = local_path(href)
    if locator.type == "mark":
        return f"{path}:{locator.line_start}"
    return path + (f"#{parts.fragment}" if parts.fragment else "")


def local_path(uri: str) -> str:
    """The path of a file's uri, relative to here where it lies below."""
    path = Path(unquote(urlsplit(uri).path))
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


def _link(href: str, locator: Time | Page | Mark) -> Text:
    return Text(visible(readable(href, locator)), style=f"dim link {href}" if _clickable(href) else "dim")


def _clickable(href: str) -> bool:
    return href.isprintable() and " " not in href and urlsplit(href).scheme in ("http", "https", "file")


# --- results ------------------------------------------------------------------------------------------------------


def show_hits(hits: Sequence[MarkedHit]) -> None:
    for number, hit in enumerate(hits, 1):
        say(_headline(f"{number}.", hit.source.title, hit.locator, hit.source))
        say(_marked(hit.quote, hit.marks), indent=4)
        say(_link(hit.href, hit.locator), indent=4)
        if hit.twins:
            say(Text(f"and {len(hit.twins)} more source(s) that say the same", style="dim"), indent=4)
        say()
    if not hits:
        note("Nothing found. Try other words, or fewer filters.")


def _headline(number: str, title: str, locator: Time | Page | Mark, source: Source | Citation) -> Text:
    facts = [place(locator), source.kind.value, source.lang if source.lang != "und" else ""]
    facts += [source.date.isoformat() if source.date else "", _version(source.version)]
    head = Text.assemble((f"{number:<4}", "bold"), (visible(title), "bold"))
    return head.append(visible("  " + " · ".join(fact for fact in facts if fact)), style="cyan")


def _version(version: str | None) -> str:
    return f"v{version.removeprefix('v')}" if version else ""


def _marked(quote: str, marks: Iterable[tuple[int, int]]) -> Text:
    text = Text(visible(quote))
    for start, end in marks:
        text.stylize("bold underline", start, end)
    return text


def show_answer(answer: Answer) -> None:
    if answer.refused is not None:
        say(Text("No answer: ", style="bold yellow") + Text(visible(answer.refused.reason)))
        if answer.refused.nearest:
            say("\nThe nearest evidence:")
        citations = answer.refused.nearest
    else:
        say(answer.text)
        citations = answer.citations
    say()
    for citation in citations:
        say(_headline(f"[{citation.n}]", citation.title, citation.locator, citation))
        say(visible(citation.quote), indent=4)
        say(_link(citation.href, citation.locator), indent=4)
    if answer.refused is None and answer.mode == "extractive":
        note("\nQuoted from the sources, word for word; no language model is set (KB_LLM_BASE_URL).", "dim")
    for dropped in answer.dropped:
        note(f"left out: {dropped.what} ({dropped.reason})", "dim")


def show_document(document: Document) -> None:
    source = document.source
    say(Text(visible(source.title), style="bold"))
    facts = [source.kind.value, source.lang, f"talk {source.talk}" if source.talk else ""]
    facts += [str(source.date or ""), _version(source.version), source.licence or ""]
    say(Text(visible(" · ".join(fact for fact in facts if fact)), style="cyan"))
    say(Text(visible(source.url or local_path(source.uri)), style="dim"))
    say(Text(f"id {source.id}", style="dim"))
    say()
    for segment in document.segments:
        flags = "".join(f" [{flag.value.replace('_', ' ')}]" for flag in sorted(segment.flags))
        say(Text.assemble((visible(str(segment.locator)), "cyan"), f"  {segment.role.value}{flags}"))
        say(segment.text, indent=4)
    show_dropped(source.title, document.dropped)


def show_dropped(title: str, dropped: Sequence[Dropped]) -> None:
    if dropped:
        say(Text(f"\n{visible(title)}: left out {len(dropped)}", style="yellow"))
    for item in dropped:
        say(f"{item.where}: {item.what}: {item.reason}", indent=4)


def show_warnings(entries: Sequence[SourceEntry]) -> None:
    for entry in entries:
        show_dropped(entry.source.title, entry.dropped)


def show_sources(entries: Sequence[SourceEntry]) -> None:
    rows = (
        (
            entry.source.title,
            entry.source.kind.value,
            entry.source.lang,
            entry.segments,
            entry.chunks,
            len(entry.dropped),
            entry.status.value,
            local_path(entry.source.uri),
        )
        for entry in entries
    )
    columns = ("title", "kind", "lang", "segments", "chunks", "warnings", "status", "file")
    table(columns, rows, numbers=("segments", "chunks", "warnings"))


def show_talks(talks: Sequence[Talk]) -> None:
    rows = ((talk.id, talk.title, str(talk.date or ""), talk.lang, ", ".join(talk.speakers)) for talk in talks)
    table(("talk", "title", "date", "lang", "speakers"), rows)


def show_articles(articles: Sequence[Article]) -> None:
    rows = ((a.slug, a.lang, a.title, a.evidence, a.gaps, "yes" if a.curated else "no") for a in articles)
    table(("slug", "lang", "title", "quotes", "gaps", "curated"), rows, numbers=("quotes", "gaps"))


def show_published(files: Sequence[str]) -> None:
    for file in files:
        say(f"published {file}")


def show_article(article: Article) -> None:
    say(Text(visible(article.title), style="bold"))
    say(f"{article.evidence} quotes, {article.gaps} gaps for the writer, {len(article.findings)} findings", indent=4)
    for finding in article.findings:
        say(f"{finding.severity} {finding.rule} at {finding.place}: {finding.hint}", indent=4)
    say(Text(visible(article.path), style="dim"), indent=4)


def show_gaps(gaps: Sequence[Gap]) -> None:
    table(
        ("question", "asked", "last", "reason"),
        ((gap.question, gap.times, f"{gap.asked_at:%Y-%m-%d}", gap.reason) for gap in gaps),
        numbers=("asked",),
    )
