from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from index.fusion import Fused
from index.llamaindex import LlamaIndexReranker
from index.rerank import CrossEncoderReranker, rerank
from index.store import Found
from kb.errors import MissingDependency
from tests.index.corpus import chunk, source

NOTE = source("note.md")


def fused(*texts: str) -> list[Fused]:
    found = [Found(chunk(NOTE, text, order), NOTE, "r1", 0.0) for order, text in enumerate(texts)]
    return [Fused(one, 10.0 - at, ()) for at, one in enumerate(found)]


class Says:
    """Gives the order that it was made with."""

    def __init__(self, *order: int) -> None:
        self.given = order
        self.asked: list[tuple[str, Sequence[str]]] = []

    def order(self, question: str, passages: Sequence[str]) -> Sequence[int]:
        self.asked.append((question, passages))
        return self.given


def texts(found: Sequence[Fused]) -> list[str]:
    return [one.found.chunk.text for one in found]


def test_p48_only_the_order_of_a_reranker_counts() -> None:
    """Its scores are logits for one model and probabilities for another: the fused ones stay, handed out anew."""
    found = rerank(fused("a", "b", "c", "d"), "q", Says(2, 0, 1), 3)
    assert texts(found) == ["c", "a", "b", "d"]
    assert [one.score for one in found] == [10.0, 9.0, 8.0, 7.0]


@pytest.mark.parametrize("order", [(), (1,), (1, 1, 7, -1)])
def test_what_a_reranker_leaves_out_or_makes_up_costs_no_candidate(order: tuple[int, ...]) -> None:
    found = rerank(fused("a", "b", "c"), "q", Says(*order), 3)
    assert sorted(texts(found)) == ["a", "b", "c"]
    assert texts(found)[:1] == (["b"] if order else ["a"])


def test_a_reranker_reads_headings_too_and_only_the_best() -> None:
    says = Says(0)
    rerank(fused("a", "b", "c"), "q", says, 2)
    assert says.asked == [("q", ["note\na", "note\nb"])]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cross-encoder with random weights that reads 32 tokens, one a word."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    torch.manual_seed(1)
    folder = tmp_path_factory.mktemp("cross-encoder")
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    vocabulary = {token: at for at, token in enumerate([*special, *(f"w{number}" for number in range(100))])}
    raw = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    raw.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=32,
    )
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=32, num_labels=1, initializer_range=1.0,
    )  # fmt: skip
    BertForSequenceClassification(config).eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def words(*numbers: int) -> str:
    return " ".join(f"w{number}" for number in numbers)


def test_p48_the_tail_of_a_long_passage_counts(tiny: Path) -> None:
    """Two passages that differ only beyond what the model reads at once: cut, they would keep the order given."""
    reranker = CrossEncoderReranker(str(tiny))
    question, filler = words(1, 2, 3), [4] * 60
    tails = [[number] * 30 for number in range(10, 90, 5)]
    alone = reranker.order(question, [words(*filler), *(words(*tail) for tail in tails)])
    ahead = [tails[at - 1] for at in alone[: list(alone).index(0)]]
    better, worse = (words(*filler, *tail) for tail in (ahead[0], ahead[-1]))
    assert list(reranker.order(question, [better, worse])) == [0, 1]
    assert list(reranker.order(question, [worse, better])) == [1, 0]


def test_a_cross_encoder_orders_every_passage_once(tiny: Path) -> None:
    reranker = CrossEncoderReranker(str(tiny))
    passages = [words(*range(start, start + 5)) for start in range(10, 90, 10)]
    order = reranker.order(words(*range(60)), passages)
    assert sorted(order) == list(range(len(passages)))
    assert list(reranker.order(words(*range(60)), passages)) == list(order)
    assert list(reranker.order("w1", [])) == []


def test_a_model_that_is_not_there_is_told_with_its_remedy(tmp_path: Path) -> None:
    with pytest.raises(MissingDependency, match="KB_RERANK_MODEL"):
        CrossEncoderReranker(str(tmp_path)).order("q", ["a"])


def test_a_node_postprocessor_of_llama_index_is_a_reranker() -> None:
    from llama_index.core.postprocessor.types import BaseNodePostprocessor

    class Longest(BaseNodePostprocessor):  # type: ignore[misc]  # LlamaIndex is not type-checked
        def _postprocess_nodes(self, nodes: list[Any], query_bundle: Any = None) -> list[Any]:
            assert query_bundle.query_str == "q"
            return sorted(nodes, key=lambda one: -len(one.node.text))[:2]

    assert LlamaIndexReranker(Longest()).order("q", ["a", "ccc", "bb"]) == [1, 2]
