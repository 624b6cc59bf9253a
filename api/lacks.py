"""How gaps look to a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from api.console import note, say, visible
from api.phrases import place

if TYPE_CHECKING:
    from kb.types import Gap, GapGroup

_EXAMPLES = 4  # questions of a group
_NEAREST = 1


def show_gaps(groups: Sequence[GapGroup]) -> None:
    for group in groups:
        say(Text.assemble((f"{group.times}×  ", "bold"), (visible(group.question), "bold")))
        for gap in group.gaps[1:_EXAMPLES]:
            say(gap.question, indent=4)
        if len(group.gaps) > _EXAMPLES:
            say(f"and {len(group.gaps) - _EXAMPLES} more in other words", indent=4)
        for line in _facts(group):
            say(Text(visible(line), style="dim"), indent=4)
        say()
    if not groups:
        note("No gaps.")


def _facts(group: GapGroup) -> list[str]:
    first, last = f"{group.first_asked_at:%Y-%m-%d}", f"{group.asked_at:%Y-%m-%d}"
    told = [f"asked {last}" if first == last else f"asked {first} to {last}"]
    if any(gap.origin == "rated" for gap in group.gaps):
        told[0] += ", found badly answered"
    if group.missing:
        told.append(f"the corpus does not mention: {', '.join(group.missing)}")
    told += [f"nearest: {one.title}, {place(one.locator, title=one.title)}" for one in group.nearest[:_NEAREST]]
    return told


def show_closed(gaps: Sequence[Gap]) -> None:
    for gap in gaps:
        note(f"Answered by now: {gap.question}")
    note(f"{len(gaps)} closed.")
