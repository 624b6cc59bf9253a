"""What was read before is read again as soon as a reader says something else about the same file."""

from __future__ import annotations

from pathlib import Path

from api import reading
from ingest.load import load
from ingest.parsed import Reading
from kb.settings import IngestSettings, Settings
from kb.text import stable_id

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = ("talks/kv-cache-arithmetic/deck.pdf", "notes/prefix-caching.zh.md", "notes/service-2.0/service-settings.md")

READ = ("reading/7", "03128969-82c4-5e78-b226-9f9cd7e5bba1")
"""The recipe of reading, and what it makes of the files above. Where this fails, a reader's output has changed: raise
`api.reading._READING`, so that libraries read their unchanged files again, and put down the new pair."""


def test_another_reading_of_the_same_files_has_another_recipe() -> None:
    settings = Settings(ingest=IngestSettings(ocr=False))  # which takes seconds
    said = [
        f"{segment.locator} {segment.role} {segment.text}"
        for name in FILES
        for segment in load(EXAMPLES / name, Reading(settings)).segments
    ]
    assert (reading._READING, stable_id("read", *said)) == READ
