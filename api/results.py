"""How sources, hits, answers and articles look to a person."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from api.chaptering import show_screen
from api.console import link, local_path, note, say, table, visible
from api.phrases import phrase, place, shown_version

if TYPE_CHECKING:
    from api.base import MarkedHit
    from kb.types import (
        Article,
        Citation,
        Document,
        Dropped,
        Lang,
        Mark,
        Page,
        Source,
        SourceEntry,
        Talk,
        Time,
    )


def show_hits(hits: Sequence[MarkedHit]) -> None:
    from kb.types import screen_at

    for number, hit in enumerate(hits, 1):
        say(headline(f"{number}.", hit.source.title, hit.locator, hit.source))
        before, after = ((hit.around.header, hit.around.before), (hit.around.after,)) if hit.around else ((), ())
        _say_around(before)
        say(_marked(hit.quote, hit.marks), indent=4)
        show_heard(hit.heard)
        _say_around(after)
        say(link(hit.href, hit.locator), indent=4)
        show_screen(screen_at(hit.screens, hit.locator))
        if hit.twins:
            more = "1 more source says" if len(hit.twins) == 1 else f"{len(hit.twins)} more sources say"
            say(Text(f"{more} the same", style="dim"), indent=4)
        say()
    if not hits:
        note("Nothing found. Try other words, or fewer filters.")


def show_heard(heard: str, lang: Lang = "en") -> None:
    """What was recognised where a quote has words that were corrected."""
    if heard:
        say(Text(visible(phrase(lang, "heard", text=heard)), style="dim"), indent=4)


def _say_around(texts: Iterable[str]) -> None:
    for text in filter(None, texts):
        say(Text(visible(text), style="dim"), indent=4)


def headline(
    number: str, title: str, locator: Time | Page | Mark, source: Source | Citation, lang: Lang = "en"
) -> Text:
    facts = [place(locator, lang, title), phrase(lang, source.kind.value), source.lang if source.lang != "und" else ""]
    facts += [source.date.isoformat() if source.date else "", _version(source.version)]
    head = Text.assemble((f"{number:<4}", "bold"), (visible(title), "bold"))
    return head.append(visible("  " + " · ".join(fact for fact in facts if fact)), style="cyan")


def _version(version: str | None) -> str:
    return shown_version(version) if version else ""


def _marked(quote: str, marks: Iterable[tuple[int, int]]) -> Text:
    text = Text(visible(quote))
    for start, end in marks:
        text.stylize("bold underline", start, end)
    return text


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
        flags += f" {segment.confidence:.2f}" if segment.confidence is not None else ""
        say(
            Text.assemble(
                (visible(place(segment.locator, title=source.title)), "cyan"), f"  {segment.role.value}{flags}"
            )
        )
        say(segment.text, indent=4)
        if segment.heard:
            say(Text(f"heard as: {visible(segment.heard)}", style="dim"), indent=4)
    show_dropped(source.title, document.dropped)


def show_dropped(title: str, dropped: Sequence[Dropped]) -> None:
    if dropped:
        say(Text(f"\n{visible(title)}: left out {len(dropped)}", style="yellow"))
    for item in dropped:
        say(f"{item.where}: {item.what}: {item.reason}", indent=4)


def show_warnings(entries: Sequence[SourceEntry]) -> None:
    """What was left out of each source, and why one could not be read at all."""
    for entry in entries:
        if entry.error:
            say(Text(f"\n{visible(entry.source.title)}: {entry.status.value}", style="red"))
            say(entry.error, indent=4)
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
    table(("slug", "lang", "title", "quotes", "gaps", "reviewed"), rows, numbers=("quotes", "gaps"))


def show_published(files: Sequence[Path]) -> None:
    """Where the pages were written, and how to look at them."""
    for file in files:
        say(f"published {local_path(file.as_uri())}")
    site = files[0].parents[3]  # of docs/zh/posts/SLUG.md
    is_english = all(file.parent.parent.name == "en" for file in files)
    settings = site / ("mkdocs.en.yml" if is_english else "mkdocs.yml")
    if not settings.is_file():
        note(f"There is no mkdocs.yml in {site}: show the Markdown with a site generator of your own.")
    else:
        note(f"Preview: mkdocs serve --config-file {local_path(settings.as_uri())}")


def show_article(article: Article) -> None:
    say(Text(visible(article.title), style="bold"))
    say(f"{article.evidence} quotes, {article.gaps} gaps for the writer, {len(article.findings)} findings", indent=4)
    for finding in article.findings:
        say(f"{finding.severity} {finding.rule} at {finding.place}: {finding.hint}", indent=4)
    say(Text(visible(article.path), style="dim"), indent=4)
