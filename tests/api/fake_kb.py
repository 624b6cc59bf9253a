"""`kb` with stand-ins for the models, as a process of its own: `python -m tests.api.fake_kb add …`.

`KB_TEST_SLOW` names a file; while it exists, every batch of vectors waits, so that a test can stop the process there.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from api import cli, serve, service
from api.models import Models
from kb.settings import Settings
from tests.api.conftest import open_fake
from tests.fakes import FakeEmbedder, FakeTranscriber

_GATE = os.environ.get("KB_TEST_SLOW")


class GatedEmbedder(FakeEmbedder):
    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        while _GATE and Path(_GATE).exists():
            time.sleep(0.01)
        return super().embed_passages(texts)


def open_service(settings: Settings) -> service.Service:
    return open_fake(settings, Models(settings, embedder=GatedEmbedder(), transcriber=FakeTranscriber()))


if __name__ == "__main__":
    service.open_service = open_service
    serve.GRACE = 1
    cli.main()
