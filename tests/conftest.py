"""What all tests share: no network beyond loopback, and where the corpus lies."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_socket import socket_allow_hosts

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(autouse=True)
def _loopback_only() -> None:
    socket_allow_hosts(["127.0.0.1", "::1", "localhost"], allow_unix_socket=True)


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The shared corpus beside the checkout, where there is one."""
    if not (SHARED / "corpus").is_dir():
        pytest.skip("the shared corpus is not beside this checkout")
    return SHARED / "corpus"


@pytest.fixture
def settings(tmp_path: Path) -> object:
    from kb.settings import Settings

    return Settings(home=tmp_path / "library")
