from __future__ import annotations

import pytest

from ingest.alignment.numerals import with_digits


@pytest.mark.parametrize(
    ("spoken", "written"),
    [
        ("四万零九百六十个词元", "40960个词元"),
        ("百分之九十", "90%"),
        ("二十一点六个GB", "21.6个GB"),
        ("一亿三千万", "130000000"),
        ("二零二六年", "2026年"),
        ("两千五，两千零五", "2500，2005"),
        ("十二层", "12层"),
        ("一两个", "一两个"),
        ("一个，三点", "一个，三点"),
        ("千万不要，万一出错", "千万不要，万一出错"),
        ("没有数", "没有数"),
    ],
)
def test_spoken_numbers_as_slides_write_them(spoken: str, written: str) -> None:
    assert with_digits(spoken) == written
