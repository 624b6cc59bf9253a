"""How corrections of transcripts look to a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from api.console import note, table
from api.phrases import place
from api.progress import show_change

if TYPE_CHECKING:
    from kb.types import Change, Wording

_PLACES = 3  # of a wording that are shown


def show_wordings(wordings: Sequence[Wording]) -> None:
    rows = ((each.id, each.heard, each.corrected, each.rule, each.state, _places(each)) for each in wordings)
    table(("id", "heard", "corrected", "rule", "state", "where"), rows)
    if not wordings:
        note("None. `kb corrections list` lists what was decided, `kb show --corrections SOURCE` all of one source.")


def _places(wording: Wording) -> str:
    shown = [place(each) for each in wording.places[:_PLACES]]
    more = len(wording.places) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def show_corrected(changes: Sequence[Change]) -> None:
    for change in changes:
        show_change(change)
    note("1 transcript changed." if len(changes) == 1 else f"{len(changes)} transcripts changed.")
