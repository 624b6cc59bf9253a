"""Our own time of an answer: from what search found to its last event, without search, embedding and model."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from generate.answer import Answerer
from generate.llm import Message
from kb.settings import Settings
from kb.types import Hit, Query
from tests.fakes import ScriptedModel

Found = Mapping[tuple[str, int], Sequence[Hit]]
Search = Callable[[Query], Sequence[Hit]]


_FIRST = 5  # answers that load dictionaries and compile patterns


class Own(NamedTuple):
    """Milliseconds of CPU."""

    median: float
    p95: float


def own_times(home: Path, questions: Sequence[str]) -> tuple[Own, Own]:
    """Extractive, and written by a model that takes no time: the library's questions, each asked once."""
    from api.models import open_models, open_store
    from index.catalog import Catalog
    from index.library import Library
    from index.search import Searcher

    settings = Settings(home=home)
    models = open_models(settings)
    with Library(home, open_store(settings), Catalog.in_folder(home), models.recipe) as library:
        found = remembered(Searcher(library, models.embedders).search, questions)
    return own_time(found, questions, written=False), own_time(found, questions, written=True)


def remembered(search: Search, questions: Sequence[str]) -> Found:
    """What `search` finds while the questions are answered, what is looked up on the way included."""
    found: dict[tuple[str, int], Sequence[Hit]] = {}

    def asked(query: Query) -> Sequence[Hit]:
        return found.setdefault((query.text, query.limit), search(query))

    for question in questions:
        Answerer(asked).ask(question)
    return found


def own_time(found: Found, questions: Sequence[str], *, written: bool) -> Own:
    """Of questions that are asked once, in a process that has answered a few others."""
    samples = []
    for question in questions:
        model = ScriptedModel(*[_copied] * 4, pieces=4) if written else None
        answerer = Answerer(lambda query: found.get((query.text, query.limit), ()), llm=model, glosses=False)
        started = time.thread_time()
        answerer.ask(question)
        samples.append((time.thread_time() - started) * 1000)
    ordered = sorted(samples[_FIRST:])
    return Own(ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.95)])


def _copied(message: Message) -> str:
    """A reply that copies a line of each of the best four passages."""
    blocks = re.findall(r"\[(e\w{7})\] [^\n]*\n(.*?)(?=\n\n\[e\w{7}\] |\n</evidence)", message.user, re.S)
    lines = [(key, line) for key, body in blocks[:4] for line in body.split("\n") if 20 < len(line) < 200]
    claims = [{"text": line, "support": [key]} for key, line in dict(lines).items()]
    return json.dumps({"claims": claims}, ensure_ascii=False)
