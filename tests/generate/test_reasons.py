"""A reason of the model's own is found; one that the evidence gives, in whatever words and language, is not."""

from __future__ import annotations

import pytest

from generate.passages import Passage
from generate.reasons import added_reasons
from tests.generate.material import hit

MLA = (
    "MLA 将 KV cache 压缩到标准 MHA 的 ~1.8%，从每 token 每层 32KB 压到 576 bytes。但当 TP=8 时，每个 GPU 的 KV cache "
    "分配和单 GPU 部署完全一样，TP 没有为 KV cache 节省任何显存。"
)
P2P = "当前 P2P 实现仅支持共享内存中的数据。若数据已被逐出至磁盘，Instance B 无法拉取，将视为 Cache Miss。"


def rules(claim: str, *quotes: str) -> list[str]:
    carried = [Passage(hit(quote, title=f"n{at}"), 0, len(quote), "prose") for at, quote in enumerate(quotes)]
    return [rule for rule, _ in added_reasons(claim, carried)]


@pytest.mark.parametrize(
    ("claim", "quotes"),
    [
        ("The server is off by default because it uses too much memory.", ["The server is off by default."]),
        ("Since the cache is small, blocks are evicted.", ["Blocks are evicted in the order of their last use."]),
        ("The flag is off by default, so the latency stays low.", ["The flag is off by default."]),
        ("The flag is off by default due to its cost.", ["The flag is off by default."]),
        ("The flag leads to preemption.", ["The flag is off by default."]),
        ("该功能默认关闭，因为它占用显存太多。", ["该功能默认关闭。"]),
        ("由于显存不足，该功能默认关闭。", ["该功能默认关闭。"]),
        ("该功能默认关闭，从而降低了延迟。", ["该功能默认关闭。"]),
        ("该功能默认关闭，原因是会抢占请求。", ["该功能默认关闭。"]),
        # two facts that stand apart are no reason for each other
        ("X is off by default because prefill takes memory.", ["The flag X is off by default. Prefill takes memory."]),
        ("该功能默认关闭，因为预填充占用显存。", ["该功能默认关闭。", "预填充占用显存。"]),
        # the evidence denies it
        (
            "FA2 在 H100 上只有 35-40% 的利用率，原因是 WGMMA 的异步执行。",
            ["FA2 only gets to 35-40% (no WGMMA, no TMA)"],
        ),
        # in the other language
        ("TP cannot shard the KV cache of MLA because it is shared across attention heads.", [MLA]),
        ("前缀缓存很慢，因为要计算哈希。", ["Prefix caching is off by default."]),
    ],
)
def test_a_reason_or_result_that_the_evidence_does_not_give_is_found(claim: str, quotes: list[str]) -> None:
    assert rules(claim, *quotes) == ["added-reason"]


@pytest.mark.parametrize(
    ("claim", "quotes"),
    [
        ("Blocks are evicted because the pool is full.", ["Blocks are evicted because the pool is full."]),
        ("Because the pool is full, blocks are evicted.", ["块池已满，所以要淘汰块。"]),
        ("块池已满，因此要淘汰块。", ["Blocks are evicted because the block pool is full."]),
        ("Latency falls because the batch is smaller.", ["Smaller batches lower the latency."]),
        ("Preemption happens because cache space is short.", ["When cache space is short, preemption happens."]),
        ("利用率只有 35-40%，原因是没有 WGMMA 和 TMA。", ["FA2 gets to 35-40% utilization (no WGMMA, no TMA)"]),
        ("只有 rank 0 写，因为 8 个 rank 的缓存完全一样。", ["只有 rank 0 是 writer：8 个 rank 的缓存完全一样。"]),
        ("实例 B 拉取会 Cache Miss，因为 P2P 仅支持共享内存中的数据。", [P2P]),
        ("The default has been 8192 tokens since v0.8.0.", ["The default is 8192 tokens since v0.8.0."]),
        ("Since 2024 the flag is on.", ["The flag is on since 2024."]),
        ("The flag is on, so that prompts are split.", ["The flag is on."]),  # a purpose is another matter
        ("它由该因子决定。", ["它由该因子决定。"]),
        ("因此命中率提高。", ["命中率因此提高。"]),
    ],
)
def test_a_reason_that_the_evidence_gives_is_not(claim: str, quotes: list[str]) -> None:
    assert rules(claim, *quotes) == []
