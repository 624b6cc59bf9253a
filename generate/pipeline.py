"""A talk becomes an article: stages with artefacts, resumable, open to a person's edit between them.

Without a language model the result is an evidence draft, and it says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from generate import check, draft, export, ledger, outline
from generate import transcript as transcripts
from generate.check import Images, image_of
from kb.errors import BadRequest, UnreadableSource
from kb.files import write_whole
from kb.text import slug as slugify
from kb.text import stable_id
from kb.types import Article, Document, Finding, Frozen, Lang, Outline, Severity, Talk, Transcript

Made = TypeVar("Made", bound=BaseModel)

_VERSION = "pipeline/4"
STAGES = ("ledger", "outline", "draft", "check", "export")


class Exported(Frozen):
    """What the last stage wrote: the Markdown by its hash, so that a person's edit to it is known as one."""

    sha256: str
    figures: tuple[str, ...]


def write(
    talk: Talk,
    documents: Sequence[Document],
    home: Path,
    *,
    transcript: Transcript | None,
    images: Images,
    lang: Lang,
) -> Article:
    """Write the evidence draft of a talk into `home/<slug>/index.<lang>.md`, its figures and its transcript beside it.

    A stage whose artefact was made from the same input is not run again. An artefact that a person has edited since is
    taken as it is, and the stages after it are made anew. Markdown that a person has edited is never written over.

    Args:
        talk: the talk; its id names the folder.
        documents: its recording, captions, decks and notes.
        home: the folder of all articles.
        transcript: the words that are quoted, with their slides and chapters; None for a talk without speech.
        images: the image of a deck's page, where there is one.
        lang: language of the words around the quotes; quotes stay as they are.

    Raises:
        BadRequest: if the talk has no documents, or its id is no slug.
        UnreadableSource: if an edited artefact is no longer what its stage takes.
    """
    folder = _folder(talk, documents, home)
    stages = _Stages(folder, lang)
    content = [talk.model_dump_json(), *(document.model_dump_json() for document in documents)]
    if transcript is not None:
        content.append(transcript.model_dump_json(include={"source", "lines"}))
        write_whole(folder / f"transcript.{lang}.md", transcripts.render(transcript, lang))
    facts = stages.run("ledger", content, ledger.Ledger, lambda: ledger.build(talk, documents, transcript))
    plan = stages.run("outline", [_json(facts)], Outline, lambda: outline.plan(facts, lang))
    sections = stages.run("draft", [_json(facts), _json(plan)], draft.Draft, lambda: draft.write(facts, plan, lang))
    names = _figures(sections, facts, images)
    inputs = [_json(facts), _json(sections), *sorted(str(key) for key in names)]
    report = stages.run("check", inputs, check.Report, lambda: check.check(sections, facts, documents, images))
    text = export.render(sections, facts, lang, folder.name, {key: name for key, (name, _) in names.items()})
    _save_figures(folder, names)
    path, kept = stages.publishable(text, tuple(sorted(name for name, _ in names.values())))
    return Article(
        slug=folder.name,
        lang=lang,
        title=sections.title,
        talk=talk.id,
        path=str(path),
        evidence=sum(len(part.quotes) for section in sections.sections for part in section.parts),
        gaps=sum(len(section.gaps) for section in sections.sections),
        findings=(*report.findings, *kept),
        recipe=stages.recipe(text),
    )


def _folder(talk: Talk, documents: Sequence[Document], home: Path) -> Path:
    if not documents:
        raise BadRequest(
            f"the talk {talk.id} has no sources", remedy="Add its recording, captions, deck or notes first"
        )
    name = slugify(talk.id)
    if not name or name != talk.id:
        raise BadRequest(f"{talk.id!r} names no talk", remedy="List the talks with `kb ls --talks`")
    folder = home / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class _Stages:
    """The artefacts of one article, `<nn>-<stage>-<recipe>.json`; the recipe is the fingerprint of a stage's input."""

    def __init__(self, folder: Path, lang: Lang) -> None:
        self.folder = folder
        self.lang = lang

    def recipe(self, *content: str) -> str:
        return hashlib.sha256("\x1f".join([_VERSION, self.lang, *content]).encode()).hexdigest()[:12]

    def path(self, stage: str, content: Sequence[str]) -> Path:
        return self.folder / f"{STAGES.index(stage) + 1:02}-{stage}-{self.recipe(stage, *content)}.json"

    def run(self, stage: str, content: Sequence[str], kind: type[Made], make: Callable[[], Made]) -> Made:
        path = self.path(stage, content)
        if path.exists():
            try:
                return kind.model_validate_json(path.read_bytes())
            except ValidationError as error:
                first = error.errors()[0]
                place = ".".join(map(str, first["loc"]))
                raise UnreadableSource(
                    f"the artefact does not hold what the next stage takes: {first['msg']}",
                    where=f"{path} {place}".strip(),
                    remedy="Correct it, or delete it to have it made again",
                ) from error
        made = make()
        write_whole(path, made.model_dump_json(indent=2).encode())
        return made

    def publishable(self, text: str, figures: tuple[str, ...]) -> tuple[Path, tuple[Finding, ...]]:
        """Write the Markdown, beside a person's version where there is one."""
        path = self.folder / f"index.{self.lang}.md"
        digest = hashlib.sha256(text.encode()).hexdigest()
        current = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None
        kept: tuple[Finding, ...] = ()
        if current is not None and current != digest and current not in self._written():
            if digest in self._written():  # the person edits what this very draft was
                return path, kept
            path = self.folder / f"index.{self.lang}.{self.recipe(text)}.md"
            hint = f"index.{self.lang}.md has been edited and was kept; the new draft is {path.name}."
            kept = (Finding(severity=Severity.P2, rule="edited-draft-kept", place=str(self.folder), hint=hint),)
        write_whole(path, text.encode())
        exported = Exported(sha256=digest, figures=figures)
        write_whole(self.path("export", [text]), exported.model_dump_json(indent=2).encode())
        return path, kept

    def _written(self) -> set[str]:
        """Hashes of every Markdown that this stage ever wrote here."""
        hashes = set()
        for path in self.folder.glob(f"{len(STAGES):02}-export-*.json"):
            with suppress(ValidationError):  # damaged: what it told of counts as a person's, and is kept
                hashes.add(Exported.model_validate_json(path.read_bytes()).sha256)
        return hashes


Names = dict[tuple[str, int], tuple[str, Path]]
"""By source and page: the figure's file name, and the image that it is a copy of."""


def _figures(sections: draft.Draft, facts: ledger.Ledger, images: Images) -> Names:
    sources = {source.id: source for source in facts.sources}
    names: Names = {}
    for figure in (part.figure for section in sections.sections for part in section.parts if part.figure):
        image = image_of(figure, images)
        if image is not None:
            name = export.file_name(sources[figure.source_id], facts.sources, figure.page)
            names[figure.source_id, figure.page] = (name, image)
    return names


def _save_figures(folder: Path, names: Names) -> None:
    if names:
        (folder / export.FIGURES).mkdir(exist_ok=True)
    for name, image in names.values():
        write_whole(folder / export.FIGURES / name, _webp(image))


def _webp(image: Path) -> bytes:
    if image.suffix.lower() == ".webp":
        return image.read_bytes()
    import io

    from PIL import Image

    stream = io.BytesIO()
    with Image.open(image) as opened:
        opened.convert("RGB").save(stream, "WEBP", quality=85)
    return stream.getvalue()


def _json(value: BaseModel) -> str:
    return stable_id("artefact", value.model_dump_json())
