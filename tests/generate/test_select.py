from __future__ import annotations

import pytest

from generate.extract import read
from generate.passages import passages
from generate.question import analyse
from generate.select import select
from kb.types import Hit, Page, Role, Span
from tests.generate.material import hit


def quotes(question: str, *hits: Hit) -> list[str]:
    return [one.passage.quote for one in select(read(analyse(question), passages(hits), hits))]


def slide(*texts: tuple[Role, str], title: str = "Deck", number: int = 2, talk: str | None = "talk") -> Hit:
    """A hit on a slide that holds `texts`, each a segment."""
    made = hit("\n".join(text for _, text in texts), title=title)
    spans = []
    start = 0
    for order, (role, text) in enumerate(texts):
        page = Page(number=number)
        spans.append(Span(start=start, end=start + len(text), order=order, offset=0, locator=page, role=role))
        start += len(text) + 1
    return made.model_copy(
        update={
            "chunk": made.chunk.model_copy(update={"spans": tuple(spans)}),
            "source": made.source.model_copy(update={"talk": talk}),
        }
    )


def test_a_title_is_no_answer_but_what_stands_below_it() -> None:
    found = quotes(
        "What is the token budget of chunked prefill?",
        slide(
            (Role.TITLE, "Chunked prefill: the token budget of a step"),
            (Role.BODY, "分块预填充的每一步"),  # the title once more, in the other language
            (Role.BODY, "The budget is 2,048 tokens for every step, decoding first."),
        ),
    )
    assert found == ["The budget is 2,048 tokens for every step, decoding first."]


def test_a_title_with_a_figure_may_be_quoted() -> None:
    found = quotes("How fast is FP8 in PFLOPS?", slide((Role.TITLE, "FP8 Benchmark: up to 1.3 PFLOPS")))
    assert found == ["FP8 Benchmark: up to 1.3 PFLOPS"]


def test_a_slide_that_is_there_in_two_files_is_quoted_once() -> None:
    question = "Why does the KV cache of one token take so much?"
    shown = (
        "The KV cache of one token takes 128 KiB in this model.",
        "KV cache = 128 KiB, for every token that is read.",
    )
    deck, pdf = (slide((Role.BODY, text), title=str(number)) for number, text in enumerate(shown))
    assert len(quotes(question, deck, pdf)) == 1
    other = slide((Role.BODY, shown[1]), title="1", number=3)
    assert len(quotes(question, deck, other)) == 2


def test_each_part_of_a_question_gets_its_quote() -> None:
    found = quotes(
        "剩余的 Session 有多少个？纯 KV 占用约多少 TB？",
        hit("剩余的 1,600 个 Session 会被卸载。\n\n2,000 个 Session 都要登记在表里。", title="一"),
        hit("休眠状态的纯 KV 占用约 4.3 TB，放在磁盘上。", title="二"),
    )
    assert "剩余的 1,600 个 Session 会被卸载。" in found
    assert "休眠状态的纯 KV 占用约 4.3 TB，放在磁盘上。" in found


def test_figures_make_quotes_different_that_share_their_words() -> None:
    note = "纯 KV 占用：2,000 × 2.69 GB = 5.38 TB\n\n纯 KV 占用：1,600 × 2.69 GB = 4.30 TB"
    assert len(quotes("纯 KV 占用是多少 TB？", hit(note))) == 2


def test_a_line_that_opens_a_list_is_quoted_with_the_list() -> None:
    note = "Preemption is cured in this order:\n\n1. Lower the number of sequences.\n2. Shorten the context."
    assert quotes("How do I cure preemption?", hit(note)) == [note]


def test_a_greeting_is_not_taken_into_the_quote() -> None:
    speech = "Welcome, this is chunked prefill.\nChunked prefill gives each step a token budget."
    found = quotes("What does chunked prefill do?", hit(speech, role=Role.SPEECH))
    assert found[0] == "Chunked prefill gives each step a token budget."


def test_what_brings_no_figure_does_not_answer_how_many_once_more() -> None:
    figure = "A block holds 16 tokens, with keys and values for every layer of the model."
    note = f"{figure}\n\nWhich tokens a block holds is written down in the table of its request."
    assert quotes("How many tokens does a block hold?", hit(note)) == [figure]


def test_a_figure_with_the_unit_that_was_asked_for_comes_first() -> None:
    note = "One token of the KV cache needs 32 layers.\n\nOne token of the KV cache needs 128 KiB."
    found = quotes("How many bytes of the KV cache does one token need?", hit(note))
    assert found[0] == "One token of the KV cache needs 128 KiB."


@pytest.mark.parametrize(
    "line", ["[4] vLLM Team, Speculative decoding. [Online]. Available", "[Speculative decoding](speculative.md)"]
)
def test_a_reference_comes_after_a_sentence(line: str) -> None:
    sentence = "Speculative decoding verifies several draft tokens in one step."
    assert quotes("What is speculative decoding?", hit(f"{line}\n\n{sentence}"))[0] == sentence


def test_a_version_that_says_little_about_the_question_gives_no_quote() -> None:
    old = hit("The cook has lunch at noon.", title="old", version="1.0")
    new = hit("The cache moved from BF16 to FP8.", title="new", version="2.0")
    assert quotes("How did the cache change from 1.0 to 2.0?", old, new) == ["The cache moved from BF16 to FP8."]


def test_a_bold_lead_in_is_quoted_with_what_it_leads_to() -> None:
    item = "**Reuse the compile cache.** The artefacts lie below the cache root and can be copied."
    assert quotes("How do I reuse the compile cache?", hit(f"Startup is slow.\n\n- {item}"))[0] == item


def test_speech_is_quoted_with_little_around_it() -> None:
    said = [f"And in step {number} the scheduler takes one more request from the queue." for number in range(12)]
    said[6] = "A budget of 2048 tokens limits the step."
    quote = quotes("How large is the budget in tokens?", hit("\n".join(said), role=Role.SPEECH))[0]
    assert said[6] in quote
    assert len(quote) <= 160


def test_an_example_of_what_was_said_is_not_quoted_after_it() -> None:
    said = "Prefix caching is enabled by `enable_prefix_caching=True`."
    note = f"{said}\n\n```python\nllm = LLM(enable_prefix_caching=True)\n```"
    assert quotes("How do I enable prefix caching?", hit(note)) == [said]


TABLE = "| 32 个请求 | 块 | 显存 |\n| --- | --- | --- |\n| 各存一份 | 2,048 | 4 GiB |\n| 前缀缓存 | 64 | 128 MiB |"


@pytest.mark.parametrize(
    "question",
    [
        "前缀缓存把 32 个请求的显存从多少降到多少？",
        "From how much to how much does prefix caching reduce memory?",
        "How much memory do 32 requests take before and after prefix caching?",
    ],
)
def test_a_change_is_quoted_in_both_its_values_and_nothing_else(question: str) -> None:
    speech = "32 个请求共用前缀，只要 64 块，不用 2,048 块，这就是前缀缓存。"
    found = quotes(question, hit(speech, title="一"), hit(TABLE, title="二"))
    assert found == ["| 各存一份 | 2,048 | 4 GiB |", "| 前缀缓存 | 64 | 128 MiB |"]


def test_a_row_of_a_slide_is_no_label_of_a_diagram() -> None:
    rows = "| 服务 | 1.0 | 2.0 |\n| --- | --- | --- |\n| 每个词元 | 128 KiB | 64 KiB |"
    found = quotes("每个词元占多少 KiB？", slide((Role.TABLE, rows), (Role.BODY, "每个词元 128 KiB")))
    assert found[0] == "| 每个词元 | 128 KiB | 64 KiB |"


@pytest.mark.parametrize(
    ("question", "quote"),
    [
        ("Which blocks are evicted first?", "同一个请求释放的块，尾部的先淘汰。"),
        ("一个请求最多浪费几个位置？", "Only the last block has room left, so a request wastes at most 15 slots."),
    ],
)
def test_ordinary_words_name_a_concept_in_the_other_language(question: str, quote: str) -> None:
    others = ("块的大小默认是 16。", "A block is filled from the left to the right before the next one.")
    assert quotes(question, hit("\n\n".join((*others, quote))))[0] == quote
