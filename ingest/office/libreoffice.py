"""LibreOffice, which draws slides and opens formats that only it knows; everything works without it, but for those.

Each run has a profile of its own, because two that share one disturb each other, and that profile runs no macros and
reaches no network: what it opens was written by others.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from kb.errors import MissingDependency, UnreadableSource

PDF = 'pdf:impress_pdf_Export:{"ExportHiddenSlides":{"type":"boolean","value":"true"}}'
PPTX = "pptx:Impress MS PowerPoint 2007 XML"
HOW = "Install LibreOffice (Debian: apt install libreoffice-impress-nogui) and add the deck again"
_POLL = 0.5  # seconds between two looks whether someone wants it to stop
_NOWHERE = "http://127.0.0.1:9"  # a port that nothing listens on
_PROFILE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema">
<item oor:path="/org.openoffice.Office.Common/Security/Scripting">
<prop oor:name="DisableMacrosExecution" oor:op="fuse"><value>true</value></prop>
<prop oor:name="MacroSecurityLevel" oor:op="fuse"><value>3</value></prop>
<prop oor:name="BlockUntrustedRefererLinks" oor:op="fuse"><value>true</value></prop></item>
<item oor:path="/org.openoffice.Inet/Settings">
<prop oor:name="ooInetProxyType" oor:op="fuse"><value>2</value></prop>
<prop oor:name="ooInetHTTPProxyName" oor:op="fuse"><value>127.0.0.1</value></prop>
<prop oor:name="ooInetHTTPProxyPort" oor:op="fuse"><value>9</value></prop>
<prop oor:name="ooInetHTTPSProxyName" oor:op="fuse"><value>127.0.0.1</value></prop>
<prop oor:name="ooInetHTTPSProxyPort" oor:op="fuse"><value>9</value></prop></item>
</oor:items>
"""


def program() -> str | None:
    return shutil.which("soffice") or shutil.which("libreoffice")


def convert(deck: Path, target: str, *, seconds: float, on_wait: Callable[[], None]) -> Path:
    """The deck in another format, written beside it.

    Args:
        deck: a file in a folder that is ours, since the profile goes there, too.
        target: `PDF` or `PPTX`.
        seconds: it may take.
        on_wait: called twice a second; whatever it raises ends the program and is passed on.

    Raises:
        MissingDependency: if LibreOffice is not installed.
        UnreadableSource: if it could not convert the deck, or took too long.
    """
    installed = program()
    if installed is None:
        raise MissingDependency("LibreOffice is not installed", remedy=HOW)
    profile = deck.parent / "profile"
    (profile / "user").mkdir(parents=True, exist_ok=True)
    (profile / "user" / "registrymodifications.xcu").write_text(_PROFILE, encoding="utf-8")
    command = [installed, f"-env:UserInstallation={profile.as_uri()}", "--headless", "--norestore", "--nolockcheck"]
    command += ["--convert-to", target, "--outdir", str(deck.parent), str(deck)]
    output = _run(command, deck.parent, seconds, on_wait)
    if output is None:  # what it has written by then may be cut off
        raise UnreadableSource(f"LibreOffice took longer than {seconds:.0f} s", remedy=HOW)
    converted = deck.with_suffix("." + target.partition(":")[0])
    if not converted.is_file():
        raise UnreadableSource(f"LibreOffice could not open the deck ({output})", remedy=HOW)
    return converted


def _run(command: list[str], folder: Path, seconds: float, on_wait: Callable[[], None]) -> str | None:
    """What the program said; None if it took too long. It starts children, so its whole session is ended then."""
    surroundings = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
    surroundings |= {"HOME": str(folder), "http_proxy": _NOWHERE, "https_proxy": _NOWHERE}
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        env=surroundings,
    ) as process:
        deadline, ended = time.monotonic() + seconds, False
        try:
            while time.monotonic() < deadline:
                try:
                    output, _ = process.communicate(timeout=min(_POLL, seconds))
                except subprocess.TimeoutExpired:
                    on_wait()
                else:
                    ended = True
                    return output.decode(errors="replace").strip()[-200:] or f"exit code {process.returncode}"
            return None
        finally:
            if not ended:  # Ctrl-C, too: it does not reach a session of its own
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
