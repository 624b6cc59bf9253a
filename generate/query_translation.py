"""A question in the other language, by a language model, for the lists of that language.

A search must neither wait long for a model nor fail with it: without a usable reply in time, the glossary alone does.
What the model replies only becomes search words, so a question that gives it orders gains nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

import structlog

from generate import prompts
from generate.llm import LanguageModel, Message
from kb.errors import KBError
from kb.glossary import Glossary, load_glossary
from kb.text import detect_lang
from kb.types import Lang

log = structlog.get_logger(__name__)

_PAUSE = 60.0  # seconds without asking a model that failed: else every search would wait for it
_REMEMBERED = 4096  # questions
_QUOTES = " \t\"'`“”‘’「」"
_ASKED = {"en": "Chinese: {}\nEnglish: ", "zh": "英文：{}\n中文："}
_TERMS = {"en": "Terms: ", "zh": "术语："}


class QueryTranslator:
    """Translates questions between Chinese and English, each once; safe from any thread.

    Args:
        model: writes the translation.
        seconds: how long a search waits. A call that takes longer goes on, and its reply is there for the next search.
        glossary: names that the translation should use; the house's own by default.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        model: LanguageModel,
        *,
        seconds: float,
        glossary: Glossary | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = model
        self._seconds = seconds
        self._glossary = glossary or load_glossary()
        self._clock = clock
        self._lock = threading.Lock()
        self._calls: dict[tuple[str, Lang], Future[str | None]] = {}
        self._resting_until = float("-inf")
        self.failures = 0  # searches that the model kept waiting in vain

    def __call__(self, text: str, to: Lang) -> str | None:
        """`text` in `to`, in one line; None where the model fails, takes too long, or replies with no translation."""
        call = self._call(text, to)
        if call is None:
            return None
        try:
            return call.result(self._seconds)
        except TimeoutError:
            self._failed("no translation in time")
        except Exception as error:  # noqa: BLE001 - a search fails with no model, whatever went wrong in it
            with self._lock:
                self._calls.pop((text, to), None)
            self._failed(error.what if isinstance(error, KBError) else repr(error))
        return None

    def _call(self, text: str, to: Lang) -> Future[str | None] | None:
        """The call that translates `text`, under way or done; None while the model is left alone."""
        with self._lock:
            call = self._calls.get((text, to))
            if call is None and self._clock() >= self._resting_until:
                if len(self._calls) >= _REMEMBERED:
                    self._calls = {}
                call = self._calls[text, to] = Future()
                # A daemon: a program that has its answer does not wait for a translation that came too late.
                threading.Thread(target=self._fill, args=(call, text, to), daemon=True).start()
            return call

    def _fill(self, call: Future[str | None], text: str, to: Lang) -> None:
        try:
            call.set_result(self._translated(text, to))
        except BaseException as error:  # noqa: BLE001 - whoever waits for the call gets it
            call.set_exception(error)

    def _translated(self, text: str, to: Lang) -> str | None:
        system = prompts.load(f"translate_query_{to}").render(terms=self._terms(text, to))
        reply = self._model.complete(Message(system, _ASKED[to].format(text)))
        lines = [line.strip(_QUOTES) for line in reply.splitlines() if line.strip(_QUOTES)]
        return lines[0] if lines and detect_lang(lines[0]) == to else None

    def _terms(self, text: str, to: Lang) -> str:
        """The glossary's names for what the question speaks of, as far as the two languages name it differently."""
        spoken: Lang = "en" if to == "zh" else "zh"
        names = ((term.names(spoken)[0], term.names(to)[0]) for term in self._glossary.find(text))
        pairs = "; ".join(f"{said} = {name}" for said, name in names if said != name)
        return f"{_TERMS[to]}{pairs}" if pairs else ""

    def _failed(self, reason: str) -> None:
        self.failures += 1
        self._resting_until = self._clock() + _PAUSE
        log.warning("query.untranslated", reason=reason, failures=self.failures, resting_seconds=_PAUSE)
