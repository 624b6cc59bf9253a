from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from kb.settings import Settings


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in [name for name in os.environ if name.startswith("KB_")]:
        monkeypatch.delenv(name)


def test_one_underscore_separates_group_and_field(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KB_HOME", "/library")
    monkeypatch.setenv("KB_LLM_BASE_URL", "http://127.0.0.1:8000/v1")
    monkeypatch.setenv("KB_QDRANT_URL", "http://127.0.0.1:6333")
    monkeypatch.setenv("KB_INGEST_CHUNK_TOKENS", "256")
    monkeypatch.setenv("KB_LOG_LEVEL", "debug")
    settings = Settings()
    assert settings.home == Path("/library")
    assert settings.llm.base_url == "http://127.0.0.1:8000/v1"
    assert settings.qdrant.url == "http://127.0.0.1:6333"
    assert settings.ingest.chunk_tokens == 256
    assert settings.log_level == "debug"


def test_an_empty_variable_is_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KB_CACHE", "")
    assert Settings().cache.is_absolute()


def test_secrets_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KB_LLM_API_KEY", "very-secret")
    settings = Settings()
    assert "very-secret" not in f"{settings!r} {settings.model_dump_json()}"
    assert settings.llm.api_key is not None
    assert settings.llm.api_key.get_secret_value() == "very-secret"


@pytest.mark.parametrize(
    ("name", "value"),
    [("KB_SERVE_PORT", "99999"), ("KB_INGEST_CHUNK_TOKENS", "1"), ("KB_LOG_LEVEL", "loud"), ("KB_LLM_TIMEOUT", "0")],
)
def test_values_out_of_range_are_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ValidationError):
        Settings()
