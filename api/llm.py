"""`kb llm`: the packaged small language model behind an OpenAI-compatible server on loopback, until it is stopped."""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
from typing import Any

import typer

from api.console import note, say
from api.progress import bar
from kb.errors import BadRequest, MissingDependency
from kb.packaged_llm import QWEN_CODER, PackagedModel, fetch
from kb.settings import Settings
from kb.types import Progress

PORT = 8766
CONTEXT_TOKENS = 8192
REQUIREMENT = "xllamacpp==2026.10.11549"
FOR_A_SMALL_MODEL = {
    "KB_LLM_TIMEOUT": "600",
    "KB_LLM_CONTEXT_TOKENS": "2048",
    "KB_LLM_MAX_TOKENS": "400",
    "KB_LLM_TRANSLATE_SECONDS": "0",
    "KB_LLM_GLOSS": "false",
}
"""What suits a model on a CPU, which reads 30 to 60 tokens a second: little to read, and nothing that is not asked."""


def is_installed() -> bool:
    return importlib.util.find_spec("xllamacpp") is not None


def run(settings: Settings, *, port: int = PORT, sure: bool = False, model: PackagedModel = QWEN_CODER) -> None:
    """Download the model where it is missing, once the person agrees, serve it, and wait for Ctrl-C.

    Raises:
        MissingDependency: if the server's package is not installed, or the model cannot be downloaded.
        BadRequest: if nobody can be asked.
    """
    if not is_installed():
        raise MissingDependency(
            "the server of the packaged model is not installed",
            remedy=f"Install it (pip install {REQUIREMENT}), or set KB_LLM_BASE_URL to an endpoint of your own",
        )
    if model.found(settings.cache) is None:
        _agree(model, settings, sure=sure)
        with bar("Downloading", "parts") as show:
            fetch(model, settings.cache, lambda done, total: show(_progress(done, total)))
    server = start(settings, port=port, model=model)
    _tell(str(server.listening_address), model)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        note("Stopped.")


def start(settings: Settings, *, port: int = PORT, model: PackagedModel = QWEN_CODER) -> Any:  # noqa: ANN401 - untyped
    """The server, listening on loopback alone; it ends with its object.

    Raises:
        MissingDependency: if it does not start, as where the port is taken.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # spinning threads starve each other on busy cores
    import xllamacpp

    threads = settings.threads or os.cpu_count() or 1
    wanted = xllamacpp.CommonParams()
    wanted.model.path = str(model.place(settings.cache))
    wanted.model_alias = {model.name}
    wanted.hostnames, wanted.port = ["127.0.0.1"], port
    wanted.n_ctx, wanted.n_parallel = CONTEXT_TOKENS, 1
    wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = threads
    try:
        return xllamacpp.Server(wanted)
    except RuntimeError as error:
        raise MissingDependency(
            f"the server does not start ({error})", where=f"port {port}", remedy="Choose another port: kb llm --port N"
        ) from error


def _agree(model: PackagedModel, settings: Settings, *, sure: bool) -> None:
    size, folder = f"{model.total_bytes / 1e9:.1f} GB", model.place(settings.cache).parent
    note(f"{model.title} ({model.licence}) is not here yet: {size} are downloaded to {folder}.")
    note("It takes 2 GB of memory while it runs.")
    if sure:
        return
    if not sys.stdin.isatty():
        raise BadRequest("nobody can be asked whether to download it", remedy="Agree beforehand: kb llm --yes")
    typer.confirm("Download it?", abort=True, err=True)


def _tell(address: str, model: PackagedModel) -> None:
    note(f"{model.title} listens. Set these where you use `kb`; Ctrl-C stops it.")
    say(f"export KB_LLM_BASE_URL={address}/v1")
    say(f"export KB_LLM_MODEL={model.name}")
    for name, value in FOR_A_SMALL_MODEL.items():
        say(f"export {name}={value}")


def _progress(done: int, total: int) -> Progress:
    return Progress(done=done, total=total, path="", stage="")
