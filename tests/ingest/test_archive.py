"""The zip that an Office file is."""

from __future__ import annotations

import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ingest.office.archive import open_picture


def test_no_picture_of_a_deck_is_given_to_a_program_of_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ghostscript(*_: object, **__: object) -> None:
        pytest.fail("Ghostscript was asked")

    monkeypatch.setattr("PIL.EpsImagePlugin.Ghostscript", ghostscript)
    with zipfile.ZipFile(tmp_path / "deck.pptx", "w") as archive:
        archive.writestr("ppt/media/image1.png", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n")
    assert open_picture(tmp_path / "deck.pptx", "ppt/media/image1.png") is None


def test_a_picture_of_16_bits_is_one_that_can_be_read_and_scaled(tmp_path: Path) -> None:
    content = BytesIO()
    Image.fromarray(np.array([[0, 20_000], [40_000, 65_535]], dtype=np.uint16)).save(content, "PNG")
    with zipfile.ZipFile(tmp_path / "deck.pptx", "w") as archive:
        archive.writestr("ppt/media/image1.png", content.getvalue())
    picture = open_picture(tmp_path / "deck.pptx", "ppt/media/image1.png")
    assert picture is not None
    picture.thumbnail((2, 2))
    assert np.asarray(picture).tolist() == [[0, 78], [156, 255]]
