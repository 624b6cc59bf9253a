"""The site, built once for all its tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("site", "deploy")

UNREVIEWED = """---
title: 还没有校对的草稿
kicker: 草稿
abstract: 不应出现。
date: 2026-01-01
{curated}
---

正文里的独特标记：未经校对。
"""


def build(root: Path) -> None:
    """Chinese first: its build empties the folder that the English one lies in (PITFALLS 43)."""
    for name in ("mkdocs.yml", "mkdocs.en.yml"):
        subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", f"site/{name}"],
            cwd=root,
            env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
            check=True,
            capture_output=True,
        )


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site with two unreviewed drafts beside the curated posts."""
    root = tmp_path_factory.mktemp("checkout")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, root / folder)
    posts = root / "site/docs/zh/posts"
    (posts / "draft.md").write_text(UNREVIEWED.format(curated="curated: false"), encoding="utf-8")
    (posts / "unmarked.md").write_text(UNREVIEWED.format(curated="lang: zh"), encoding="utf-8")
    build(root)
    return root / "build/site"
