"""Tables on PDF pages beside other things: drawn ones and such as only stand in rows; a number is in its own row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kb.types import Role
from tests.fakes import FakeRecogniser
from tests.ingest.pdf_writer import Sheet, frame, rule, text
from tests.ingest.test_pdf_page import parse, roles

TITLE = text(60, 740, "The budget", size=28)
BUDGET = (("item", "GiB"), ("card", "24.0"), ("weights", "15.0"), ("activations", "1.6"), ("KV cache", "5.0"))
SIZES = (("model", "layers"), ("small", "32"), ("large", "80"))


def cells(rows: Sequence[Sequence[str]], xs: Sequence[float], top: float = 640, step: float = 32) -> str:
    return "".join(text(x, top - step * r, word) for r, row in enumerate(rows) for x, word in zip(xs, row, strict=True))


def grid(xs: Sequence[float], rows: int, top: float = 660, step: float = 32) -> str:
    """Rules around cells whose texts stand as `cells` puts them."""
    ys = [top - step * r for r in range(rows + 1)]
    return "".join(rule(xs[0], y, xs[-1], y) for y in ys) + "".join(rule(x, ys[0], x, ys[-1]) for x in xs)


def filled(xs: Sequence[float], rows: int, top: float = 660, step: float = 32) -> str:
    """The same cells without rules, each filled."""
    places = [(x, right, top - step * (r + 1)) for r in range(rows) for x, right in pairwise(xs)]
    return "".join(frame(x, y, right - x, step, fill=True) for x, right, y in places)


def markdown(rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])


def tables(path: Path, content: str) -> list[str]:
    return [words for role, words in roles(parse(path, Sheet(TITLE + content))) if role is Role.TABLE]


@pytest.mark.parametrize("drawn", [grid, filled])
def test_a_drawn_table_beside_a_formula_box(drawn: Callable[..., str], tmp_path: Path, blind: FakeRecogniser) -> None:
    box = frame(330, 560, 220, 100) + text(350, 620, "2 x L x H x d") + text(350, 594, "= 131,072 B per token")
    content = drawn([50, 200, 280], 5) + cells(BUDGET, (60, 230)) + box
    read = roles(parse(tmp_path, Sheet(TITLE + content)))
    assert read[1:] == [
        (Role.TABLE, markdown(BUDGET)),
        (Role.BODY, "2 x L x H x d\n= 131,072 B per token"),
    ]


@pytest.mark.parametrize("ruled", [True, False])
def test_a_table_beside_a_chart_with_numbers_at_other_heights(
    ruled: bool, tmp_path: Path, blind: FakeRecogniser
) -> None:
    heights = {630: "2.4", 592: "5.0", 568: "1.6", 520: "15.0", 480: "GPU memory"}
    chart = "".join(text(450, y, word, size=9) for y, word in heights.items())
    bars = "".join(frame(420, y, 80, 30, fill=True) for y in (625, 595, 565, 535, 505))
    rules = grid([50, 200, 280], 5) if ruled else ""
    read = roles(parse(tmp_path, Sheet(TITLE + bars + rules + cells(BUDGET, (60, 230)) + chart)))
    assert [words for role, words in read if role is Role.TABLE] == [markdown(BUDGET)]
    assert "\n".join(words for role, words in read if role is Role.BODY).split("\n") == list(heights.values())


@given(shift=st.floats(-40, 40), step=st.floats(18, 60), size=st.sampled_from((8, 10, 12)))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_number_of_a_chart_joins_a_row(
    shift: float, step: float, size: int, tmp_path: Path, blind: FakeRecogniser
) -> None:
    chart = "".join(text(450, 600 + shift - step * n, f"7{n}.7", size=size) for n in range(4))
    read = roles(parse(tmp_path, Sheet(TITLE + grid([50, 200, 280], 5) + cells(BUDGET, (60, 230)) + chart)))
    assert read[1] == (Role.TABLE, markdown(BUDGET))


def test_two_drawn_tables_side_by_side(tmp_path: Path, blind: FakeRecogniser) -> None:
    left = grid([50, 180, 260], 5) + cells(BUDGET, (60, 200))
    right = grid([320, 450, 530], 3) + cells(SIZES, (330, 470))
    assert tables(tmp_path, left + right) == [markdown(BUDGET), markdown(SIZES)]


def test_two_tables_side_by_side_with_rows_of_other_heights(tmp_path: Path, blind: FakeRecogniser) -> None:
    content = cells(BUDGET, (60, 200)) + cells(SIZES, (340, 470), top=630, step=46)
    assert tables(tmp_path, content) == [markdown(BUDGET), markdown(SIZES)]


def test_a_table_without_rules_above_text(tmp_path: Path, blind: FakeRecogniser) -> None:
    read = roles(parse(tmp_path, Sheet(TITLE + cells(BUDGET, (60, 230)) + text(60, 400, "What is left is the cache"))))
    assert read[1:] == [(Role.TABLE, markdown(BUDGET)), (Role.BODY, "What is left is the cache")]


@pytest.mark.parametrize("kinds", [("32", "80"), ("dense", "sparse")])
def test_rows_that_would_merge_stay_lines(kinds: tuple[str, str], tmp_path: Path, blind: FakeRecogniser) -> None:
    rows = (("model", "kind", "on"), ("tiny", "none", "CPU"), ("small", kinds[0], ""), ("large", kinds[1], ""))
    shown = "".join(
        text(x, 640 - 32 * r, word) for r, row in enumerate(rows) for x, word in zip((60, 200, 400), row, strict=True)
    )
    between = text(400, 552, "both", size=40)  # stands beside two rows at once
    read = roles(parse(tmp_path, Sheet(TITLE + shown.replace("() Tj", "( ) Tj") + between)))
    assert [words for role, words in read if role is Role.TABLE] == []
    assert not any("small large" in words or " ".join(kinds) in words for _, words in read)


def test_columns_written_as_one_text_each_are_no_row(tmp_path: Path, blind: FakeRecogniser) -> None:
    rows = (("model", "layers", "on"), ("tiny", "4", "CPU"), ("small", "32", "GPU"))
    columns = "".join(text(x, 508, a) + text(x, 488, b) for x, a, b in ((60, "big", "huge"), (200, "80", "126")))
    shown = cells(rows, (60, 200, 400), top=640, step=40) + columns + text(400, 498, "both")
    assert not any("huge 80" in words or "big huge" in words for words in tables(tmp_path, shown))


def test_large_numbers_before_two_lines_each_stay_with_them(tmp_path: Path, blind: FakeRecogniser) -> None:
    points = ("Tokens", "Memory", "Requests")
    shown = "".join(text(60, 600 - 90 * n, str(n + 1), size=30) for n in range(3))
    shown += "".join(text(160, 612 - 90 * n, point) for n, point in enumerate(points))
    shown += "".join(text(160, 590 - 90 * n, f"{point} once more", size=10) for n, point in enumerate(points))
    said = " ".join(words for _, words in roles(parse(tmp_path, Sheet(TITLE + shown)))).split()
    assert [word for word in said if word in {"1", "2", "3", *points}][:5] == ["1", "Tokens", "Tokens", "2", "Memory"]


def test_rules_under_the_header_only_part_no_rows(tmp_path: Path, blind: FakeRecogniser) -> None:
    xs, ys = (50, 200, 280), (660, 628, 500)
    rules = "".join(rule(50, y, 280, y) for y in ys) + "".join(rule(x, 660, x, 500) for x in xs)
    assert tables(tmp_path, rules + cells(BUDGET, (60, 230))) == [markdown(BUDGET)]


def test_cells_that_nearly_touch_are_parted_by_their_rule(tmp_path: Path, blind: FakeRecogniser) -> None:
    rows = (("tokens at once", "memory"), ("128,000 of them", "4 GiB"))
    words = "".join(text(60, 640 - 32 * r, f"{row[0]}") + text(151, 640 - 32 * r, row[1]) for r, row in enumerate(rows))
    assert tables(tmp_path, grid([50, 149, 280], 2) + words) == [markdown(rows)]


def test_a_cell_over_several_rows_stands_in_the_first(tmp_path: Path, blind: FakeRecogniser) -> None:
    ys = (660, 628, 596, 564)
    rules = "".join(rule(150, y, 400, y) for y in ys) + rule(50, 660, 150, 660) + rule(50, 628, 150, 628)
    rules += rule(50, 564, 150, 564) + "".join(rule(x, 660, x, 564) for x in (50, 150, 280, 400))
    words = cells((("GPU", "batch", "tokens"), ("", "1", "90"), ("", "8", "610")), (60, 160, 300))
    content = rules + words.replace("() Tj", "( ) Tj") + text(60, 570, "H100")
    expected = (("GPU", "batch", "tokens"), ("H100", "1", "90"), ("", "8", "610"))
    assert tables(tmp_path, content) == [markdown(expected)]


def test_boxes_joined_by_arrows_are_no_table(tmp_path: Path, blind: FakeRecogniser) -> None:
    boxes = "".join(frame(60 + 180 * c, 600 - 80 * r, 110, 40) for r in range(2) for c in range(3))
    arrows = "".join(rule(170 + 180 * c, 620 - 80 * r, 240 + 180 * c, 620 - 80 * r) for r in range(2) for c in range(2))
    arrows += rule(115, 600, 115, 560)
    words = (("ask", "plan", "run"), ("wait", "fill", "free"))
    assert tables(tmp_path, boxes + arrows + cells(words, (70, 250, 430), top=615, step=80)) == []


def test_labels_of_a_chart_are_no_table(tmp_path: Path, blind: FakeRecogniser) -> None:
    words = (("48", "48", "48"), ("2,000", "2,000", "2,000"), ("step 1", "step 2", "step 3"))
    assert tables(tmp_path, cells(words, (60, 160, 260))) == []


def test_arrows_between_numbers_are_no_code(tmp_path: Path, blind: FakeRecogniser) -> None:
    labels = "".join(text(60, 640 - 60 * n, f"{n} \u2192 {7 - n}", font="M") for n in range(3))
    read = roles(parse(tmp_path, Sheet(TITLE + text(60, 680, "Logical to physical") + labels)))
    assert {role for role, _ in read} == {Role.TITLE, Role.BODY}
    assert "0 \u2192 7" in [words for _, words in read]


def test_a_label_that_stands_further_to_the_right_is_no_next_line(tmp_path: Path, blind: FakeRecogniser) -> None:
    labels = text(60, 600, "logical block") + text(300, 590, "7") + text(60, 500, "A block holds the keys of 16 tokens")
    assert (Role.BODY, "7") in roles(parse(tmp_path, Sheet(TITLE + text(60, 660, "Blocks") + labels)))
