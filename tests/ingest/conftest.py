from __future__ import annotations

import pytest

from tests.fakes import FakeRecogniser


@pytest.fixture
def blind(monkeypatch: pytest.MonkeyPatch) -> FakeRecogniser:
    """Text recognition that sees nothing and needs no time."""
    recogniser = FakeRecogniser()
    monkeypatch.setattr("ingest.pages.ocr._engine", lambda _threads: recogniser)
    return recogniser
