from __future__ import annotations

import pytest

from generate.quantity import quantities, supported

HELD = (
    ("30 KB", "压缩至 30 KB，"),
    ("30KB", "30 KB"),
    ("1152 bytes", "约为 `1,152` 字节 / token"),
    ("5 亿次", "more than 500 million calls"),
    ("500 million", "每天超过 5 亿次"),
    ("50%", "约 50 % 的显存"),
    ("百分之 50", "50%"),
    ("50 percent", "50%"),
    ("16.5 倍", "= 16.5\\times$"),
    ("8x", "8 倍"),
    ("2.2K tok/s", "2200 tokens/s"),
    ("32", "| `balance_abs_threshold` | 32 |"),
    ("4 GiB", "| size | 4 | in GiB |"),
    ("2 种", "LRU 和 ARC 两种缓存"),
    ("two levels 2", "two levels"),
    ("8.0", "compute capability 8.0 or higher"),
    ("20 s", "extends it (~20s)"),
)
NOT_HELD = (
    ("30 MB", "30 KB"),
    ("30 GiB", "30 GB"),
    ("31 KB", "30 KB"),
    ("5 ms", "5 s"),
    ("50%", "a factor of 50"),
    ("8192 tokens", "8 tokens"),
    ("100", "H100"),
    ("3", "v0.33.0 and FA3"),
    ("5 亿", "5 million"),
    ("32", "320"),
)


@pytest.mark.parametrize(("claim", "evidence"), HELD)
def test_the_same_quantity_in_another_notation_is_held(claim: str, evidence: str) -> None:
    assert all(supported(quantity, evidence) for quantity in quantities(claim))
    assert list(quantities(claim))


@pytest.mark.parametrize(("claim", "evidence"), NOT_HELD)
def test_another_value_or_unit_is_not(claim: str, evidence: str) -> None:
    assert not any(supported(quantity, evidence) for quantity in quantities(claim))


def test_digits_of_identifiers_and_versions_are_no_quantities() -> None:
    assert not list(quantities("H100 runs v0.33.0 with FP8 and sha256_cbor"))
