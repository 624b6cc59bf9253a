"""What text recognition read is marked as such wherever a source is shown, with how sure it was."""

from __future__ import annotations

import pytest

from api.results import show_document
from kb.types import Document, Flag, Kind, Page, Role, Segment, Source


def test_recognised_text_is_shown_with_its_confidence(capsys: pytest.CaptureFixture[str]) -> None:
    source = Source(id="s", kind=Kind.DECK, uri="file:///deck.pdf", sha256="", title="A deck")
    page = Page(number=2)
    segments = (
        Segment(source_id="s", order=0, text="Title", locator=page, role=Role.TITLE),
        Segment(
            source_id="s",
            order=1,
            text="from pixels",
            locator=page,
            role=Role.CODE,
            flags=frozenset({Flag.OCR}),
            confidence=0.9712,
        ),
    )
    document = Document(source=source, segments=segments, pages=2)
    assert Document.model_validate_json(document.model_dump_json()) == document
    show_document(document)
    lines = capsys.readouterr().out.splitlines()
    assert "page 2  title" in lines
    assert "page 2  code [ocr] 0.97" in lines
