"""`kb llm`: nothing is downloaded unless someone agrees. The server itself is tried by `make test-llm`."""

from __future__ import annotations

import dataclasses
import io
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from api import llm
from kb.errors import BadRequest, MissingDependency
from kb.packaged_llm import QWEN_CODER
from kb.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "library", cache=tmp_path / "cache")


def test_without_its_package_the_remedy_is_told(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm, "is_installed", lambda: False)
    with pytest.raises(MissingDependency, match="pip install xllamacpp=="):
        llm.run(settings)


def test_it_says_the_size_and_does_not_download_unasked(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(llm, "is_installed", lambda: True)
    monkeypatch.setattr(llm, "fetch", lambda *_: pytest.fail("downloaded"))
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(BadRequest, match="--yes"):
        llm.run(settings)
    told = capfd.readouterr().err
    assert "1.1 GB" in told
    assert "Apache-2.0" in told
    assert not settings.cache.exists()


def test_it_serves_on_loopback_and_prints_what_to_set(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    started: list[Any] = []

    def parameters() -> SimpleNamespace:
        part = SimpleNamespace
        return part(model=part(), cpuparams=part(), cpuparams_batch=part())

    def server(wanted: SimpleNamespace) -> SimpleNamespace:
        started.append(wanted)
        return SimpleNamespace(listening_address="http://127.0.0.1:5")

    def stopped() -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "xllamacpp", SimpleNamespace(CommonParams=parameters, Server=server))
    monkeypatch.setattr(llm, "is_installed", lambda: True)
    monkeypatch.setattr(threading, "Event", lambda: SimpleNamespace(wait=stopped))
    model = dataclasses.replace(QWEN_CODER, total_bytes=4)
    model.place(settings.cache).parent.mkdir(parents=True)
    model.place(settings.cache).write_bytes(b"GGUF")
    llm.run(settings, port=0, model=model)
    assert started[0].hostnames == ["127.0.0.1"]
    assert capfd.readouterr().out.splitlines() == [
        "export KB_LLM_BASE_URL=http://127.0.0.1:5/v1",
        "export KB_LLM_MODEL=qwen2.5-coder-1.5b-instruct",
        "export KB_LLM_TIMEOUT=600",
        "export KB_LLM_CONTEXT_TOKENS=2048",
        "export KB_LLM_MAX_TOKENS=400",
        "export KB_LLM_TRANSLATE_SECONDS=0",
        "export KB_LLM_GLOSS=false",
    ]
