"""Make the deck of the sample talk, as PPTX with python-pptx and as PDF with LibreOffice.

    .venv/bin/python -m examples.make.deck

Needs `soffice` and the Noto CJK fonts. Every number on a slide comes from `facts.py`.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

from pptx import Presentation
from pptx.enum.text import PP_ALIGN
from pptx.util import Inches

from examples.make import facts
from examples.make.slide import AMBER, INK, MONO, MUTED, PAPER, SAND, TEAL, TINT, Slide

DECK = Path(__file__).resolve().parents[1] / "talks" / "kv-cache-arithmetic" / "deck.pptx"
PDF_FILTER = 'pdf:impress_pdf_Export:{"ExportHiddenSlides":{"type":"boolean","value":"true"}}'  # page = slide number


def cover(deck: Any) -> None:  # noqa: ANN401
    slide = Slide(
        deck, "一块显卡能装下多少对话？", "How many conversations fit on one card? KV cache arithmetic, step by step",
        "这是示例演讲的封面。讲者是虚构的：vLLM Notes KB。所有数字都来自 examples/make/facts.py。",
    )  # fmt: skip
    slide.box(0.83, 2.2, 3.6, 1.9, "128 KiB", size=40, bold=True, color=TEAL)
    slide.text(0.83, 4.2, 3.6, "每个词元的 KV 缓存\nKV cache per token", size=16, color=MUTED)
    slide.box(4.83, 2.2, 3.6, 1.9, f"{facts.CACHE_TOKENS:,}", size=40, bold=True, color=TEAL)
    slide.text(4.83, 4.2, 3.6, "能放下的词元\ntokens that fit", size=16, color=MUTED)
    slide.box(8.83, 2.2, 3.6, 1.9, f"{facts.CONCURRENT_PAGED}", size=40, bold=True, color=AMBER, fill=SAND)
    slide.text(8.83, 4.2, 3.6, "并发请求，每个 1,000 词元\nrequests of 1,000 tokens at once", size=16, color=MUTED)
    slide.text(0.75, 6.5, 11.8, "示例模型 · 示例服务 1.0 · vLLM Notes KB · 2026-09-18", size=14, color=MUTED)


def phases(deck: Any) -> None:  # noqa: ANN401
    slide = Slide(
        deck, "两个阶段，两种瓶颈", "Two phases, two bottlenecks: prefill is compute-bound, decode is memory-bound",
        "预填充一次读完整个提示词，受算力限制。解码每步只写一个词元，却要把权重和全部 KV 缓存读一遍，受显存带宽限制。",
    )  # fmt: skip
    slide.box(0.83, 2.3, 2.2, 1.5, "提示词\nprompt", fill=PAPER)
    slide.arrow(3.03, 3.05, 3.83, 3.05)
    slide.box(3.83, 2.3, 3.2, 1.5, "预填充 prefill\n一步处理全部词元", size=18)
    slide.arrow(7.03, 3.05, 7.83, 3.05)
    slide.box(7.83, 2.3, 4.6, 1.5, "解码 decode\n每步一个词元，重复到结束", size=18, fill=SAND)
    slide.arrow(5.43, 3.8, 5.43, 4.7)
    slide.arrow(10.13, 4.7, 10.13, 3.8, AMBER)
    slide.box(3.83, 4.7, 8.6, 0.9, "KV 缓存：写入一次，之后每一步都读  ·  written once, read at every step", size=17)
    slide.text(0.83, 6.1, 11.6, "没有缓存，第 n 步要把前面 n − 1 个词元重算一遍。", size=20)


def per_token(deck: Any) -> None:  # noqa: ANN401
    slide = Slide(
        deck, "一个词元占多少显存", "What one token costs",
        "键和值各存一份，所以先乘二。如果不用分组查询注意力，32 个头全部都存，每个词元就是 512 KiB，整整四倍。",
    )  # fmt: skip
    rows = [
        ("示例模型 example model", "值"),
        ("层数 layers", f"{facts.LAYERS}"),
        ("查询头 query heads", f"{facts.QUERY_HEADS}"),
        ("键值头 KV heads (GQA)", f"{facts.KV_HEADS}"),
        ("头维度 head dimension", f"{facts.HEAD_DIM}"),
        ("每个数的字节 bytes per value (BF16)", f"{facts.BYTES_BF16}"),
    ]
    slide.table(0.83, 2.1, (4.6, 1.2), rows)
    slide.box(7.0, 2.1, 5.4, 1.2, "2 × L × H_kv × d × b", size=26, font=MONO, fill=PAPER)
    slide.text(7.0, 3.6, 6.0, "2 × 32 × 8 × 128 × 2 = 131,072 B", size=18, font=MONO)
    slide.text(7.0, 4.15, 5.4, "= 128 KiB 每个词元 per token", size=24, bold=True, color=TEAL)
    slide.text(7.0, 5.0, 5.4, "MHA（32 个键值头）：512 KiB，4 倍", size=20, color=AMBER)


def budget(deck: Any) -> None:  # noqa: ANN401
    slide = Slide(
        deck, "显存预算：剩下的才是 KV 缓存", "The budget: the KV cache gets what is left",
        "激活值等的 1.6 GiB 是实测值，取决于批次形状；其余都是算出来的。启动日志里可以看到实际的块数。",
    )  # fmt: skip
    rows = [
        ("项目 item", "GiB"),
        ("显卡 card", "24.0"),
        ("× 0.90 显存利用率 utilization", "21.6"),
        ("− 模型权重 weights", "15.0"),
        ("− 激活值等 activations", "1.6"),
        ("= KV 缓存 KV cache", "5.0"),
    ]
    slide.table(0.83, 2.1, (4.6, 1.3), rows)
    slide.text(0.83, 5.6, 6.0, "5.0 GiB ÷ 128 KiB = 40,960 个词元", size=22, bold=True, color=TEAL)
    slide.chart(
        7.4, 1.9, 5.0, 4.9, "24 GiB 怎么分（GiB）", ["显存 GPU memory"],
        [
            ("权重 weights", [facts.WEIGHTS_GIB], INK),
            ("激活值 activations", [facts.ACTIVATIONS_GIB], AMBER),
            ("KV 缓存 KV cache", [facts.CACHE_GIB], TEAL),
            ("保留 unused", [round(facts.CARD_GIB - facts.USABLE_GIB, 1)], TINT),
        ],
        "0.0",
    )  # fmt: skip


def paging(deck: Any) -> None:  # noqa: ANN401
    slide = Slide(
        deck, "分页注意力：逻辑块到物理块", "PagedAttention: a block table maps logical to physical blocks",
        "每块 16 个词元，2 MiB，一共 2,560 块。块按需分配，不必连续，所以没有外部碎片。",
    )  # fmt: skip
    places = {7: 0, 1: 1, 4: 2}
    for physical, logical in places.items():
        y = 2.3 + logical * 1.0
        slide.box(0.83, y, 2.6, 0.75, f"逻辑块 {logical}：词元 {logical * 16}–{logical * 16 + 15}", size=14)
        slide.arrow(3.43, y + 0.375, 4.4, y + 0.375)
        slide.box(4.4, y, 1.6, 0.75, f"{logical} → {physical}", font=MONO, fill=PAPER)
    slide.arrow(6.2, 3.7, 7.3, 3.7, TEAL)
    slide.text(0.83, 1.85, 2.6, "请求 request", size=14, color=MUTED)
    slide.text(4.4, 1.85, 1.8, "块表 block table", size=14, color=MUTED)
    slide.text(7.6, 1.85, 4.8, "物理块 physical blocks", size=14, color=MUTED)
    for block in range(8):
        x, y = 7.6 + (block % 4) * 1.25, 2.3 + (block // 4) * 1.6
        if block in places:
            slide.box(x, y, 1.1, 1.2, f"{block}\n逻辑块 {places[block]}", size=14, fill=TEAL, color=PAPER)
        else:
            slide.box(x, y, 1.1, 1.2, f"{block}", size=14, fill=PAPER, color=MUTED)
    slide.text(
        0.83,
        5.85,
        11.6,
        "16 词元 × 128 KiB = 2 MiB 每块　·　5.0 GiB ÷ 2 MiB = 2,560 块",
        size=22,
        bold=True,
        color=TEAL,
    )


def waste(deck: Any) -> None:  # noqa: ANN401
    slide = Slide(
        deck, "预留与分页：差四倍", "Reserving the maximum or paging: four times apart",
        "按最大长度 4,096 预留，一个 1,000 词元的请求浪费 3,096 个位置。分页以后只浪费最后一块里的 8 个。",
    )  # fmt: skip
    rows = [
        ("1,000 个词元的请求 request", "预留 4,096 reserved", "分页 paged"),
        ("占用位置 slots taken", f"{facts.MAX_TOKENS:,}", f"{facts.REQUEST_BLOCKS * facts.BLOCK_TOKENS:,}"),
        ("浪费位置 slots wasted", f"{facts.WASTED_RESERVED:,}", f"{facts.WASTED_PAGED}"),
        ("浪费比例 share wasted", "75.6%", "0.8%"),
        ("物理块 blocks", "256", f"{facts.REQUEST_BLOCKS}"),
        ("并发请求 requests at once", f"{facts.CONCURRENT_RESERVED}", f"{facts.CONCURRENT_PAGED}"),
    ]
    slide.table(0.83, 2.1, (5.6, 3.0, 3.0), rows, size=20)
    slide.text(0.83, 5.75, 11.6, "63 块 × 16 = 1,008 个位置；2,560 ÷ 63 取整 = 40", size=20, color=MUTED)


def prefixes(deck: Any) -> None:  # noqa: ANN401
    slide = Slide(
        deck, "前缀缓存：相同的块只存一次", "Prefix caching: equal blocks are kept once",
        "一块的哈希包含父块的哈希，所以命中意味着整个前缀相同。只有写满的块才能共享。",
    )  # fmt: skip
    for position in range(3):
        x = 0.83 + position * 4.05
        parent = "无" if position == 0 else f"h{position - 1}"
        slide.box(
            x,
            2.2,
            3.4,
            1.3,
            f"块 {position}：h{position} = hash({parent},\n词元 {position * 16}–{position * 16 + 15})",
            size=16,
        )
        if position:
            slide.arrow(x - 0.65, 2.85, x, 2.85, TEAL)
    rows = [
        ("32 个请求，共用前缀 1,024 个词元", "块 blocks", "显存 memory"),
        ("各存一份 kept separately", f"{facts.UNSHARED_BLOCKS:,}", "4 GiB"),
        ("前缀缓存 prefix caching", f"{facts.SHARED_BLOCKS}", "128 MiB"),
    ]
    slide.table(0.83, 4.0, (7.2, 2.2, 2.2), rows)
    slide.text(0.83, 6.0, 11.6, "1,000 个词元的前缀只有 62 个写满的块：共享 992 个，重算 8 个。", size=18, color=MUTED)


def batching(deck: Any) -> None:  # noqa: ANN401
    slide = Slide(
        deck, "连续批处理：空出来的位置马上补上", "Continuous batching: a free slot is filled at once",
        "静态批次要等最长的请求。四个请求分别生成 100、200、300 和 1,000 个词元：4,000 个步位里只有 1,600 个有用。",
    )  # fmt: skip
    for column, (heading, refill) in enumerate((("静态批处理 static", False), ("连续批处理 continuous", True))):
        left = 0.83 + column * 6.0
        slide.text(left, 1.95, 5.4, heading, size=18, bold=True)
        for row, length in enumerate(facts.OUTPUTS):
            y, used = 2.6 + row * 0.7, 5.2 * length / 1000
            slide.box(left, y, used, 0.5, f"{length:,}", size=12, fill=TEAL, color=PAPER)
            if used < 5.2:
                fill, text = (SAND, "新请求 new requests") if refill else (PAPER, "空闲 idle")
                slide.box(left + used, y, 5.2 - used, 0.5, text, size=12, fill=fill, color=MUTED)
    slide.text(0.83, 5.6, 11.6, "静态：1,600 ÷ (4 × 1,000) = 40% 有用", size=22, bold=True, color=TEAL)
    slide.text(0.83, 6.1, 11.6, "连续：每一步重新组批，有排队的请求就没有空位", size=18, color=MUTED)


def chunks(deck: Any) -> None:  # noqa: ANN401
    slide = Slide(
        deck, "分块预填充：每步一个词元预算", "Chunked prefill: a token budget for every step",
        "48 个请求正在解码，每个先拿一个词元，剩下 2,000 个给提示词。8,192 个词元分五步：四步各 2,000，最后一步 192。",
    )  # fmt: skip
    steps = [facts.PREFILL_PER_STEP] * (facts.PREFILL_STEPS - 1) + [facts.LAST_CHUNK]
    slide.chart(
        0.83, 1.8, 7.0, 4.9, "每步的词元数，预算 2,048", [f"步 {step}" for step in range(1, len(steps) + 1)],
        [("预填充 prefill", steps, TEAL), ("解码 decode", [facts.DECODING] * len(steps), SAND)], "#,##0",
    )  # fmt: skip
    slide.text(8.2, 2.3, 4.4, "预算 budget = 2,048\n− 解码 decode = 48\n= 预填充 prefill = 2,000", size=18, font=MONO)
    slide.text(8.2, 4.0, 4.4, "8,192 = 4 × 2,000 + 192", size=18, bold=True, font=MONO, color=TEAL)
    slide.text(8.2, 4.9, 4.4, "预算小：词元间延迟低\n预算大：首词元延迟低", size=18)


def code(deck: Any) -> None:  # noqa: ANN401
    slide = Slide(
        deck, "自己算一遍", "Do the sum yourself",
        "把自己模型配置文件里的四个数填进去：num_hidden_layers、num_key_value_heads、head_dim 和 torch_dtype。",
    )  # fmt: skip
    slide.box(0.83, 2.0, 11.6, 3.6, CODE, size=16, font=MONO, align=PP_ALIGN.LEFT, fill=TINT)
    slide.text(0.83, 5.9, 11.6, "输出 output：131072 40960 40", size=18, font=MONO, color=TEAL)


CODE = """\
def kv_bytes_per_token(layers, kv_heads, head_dim, bytes_per_value):
    return 2 * layers * kv_heads * head_dim * bytes_per_value

per_token = kv_bytes_per_token(32, kv_heads=8, head_dim=128, bytes_per_value=2)
blocks = 5 * 2**30 // (16 * per_token)
blocks_per_request = -(-1000 // 16)
print(per_token, blocks * 16, blocks // blocks_per_request)"""


def conclusion(deck: Any) -> None:  # noqa: ANN401
    slide = Slide(
        deck, "三句话", "Three sentences to remember",
        "先算每个词元，再算显存预算，最后才谈并发数。",
    )  # fmt: skip
    lines = (
        ("1", "先算每个词元", "First the cost of a token: 128 KiB"),
        ("2", "再算显存预算", "Then the budget: 5.0 GiB, 40,960 tokens"),
        ("3", "最后才谈并发数", "Only then concurrency: 40 requests of 1,000 tokens"),
    )
    for row, (number, chinese, english) in enumerate(lines):
        y = 2.1 + row * 1.45
        slide.box(0.83, y, 1.1, 1.1, number, size=32, bold=True, fill=TEAL, color=PAPER)
        slide.text(2.2, y, 10.0, chinese, size=26, bold=True)
        slide.text(2.2, y + 0.62, 10.0, english, size=18, color=MUTED)


def spare(deck: Any) -> None:  # noqa: ANN401
    slide = Slide(
        deck, "备用：FP8 的 KV 缓存", "Spare slide: the KV cache in FP8",
        "示例服务 2.0 把 KV 缓存存成 FP8。这一页默认隐藏，提问时再用。",
    )  # fmt: skip
    rows = [
        ("示例服务 example service", "1.0：BF16", "2.0：FP8"),
        ("每个词元 per token", "128 KiB", "64 KiB"),
        ("块数 blocks", f"{facts.BLOCKS:,}", f"{facts.BLOCKS_FP8:,}"),
        ("词元 tokens", f"{facts.CACHE_TOKENS:,}", f"{facts.CACHE_TOKENS_FP8:,}"),
        ("1,000 词元的请求 requests", f"{facts.CONCURRENT_PAGED}", f"{facts.CONCURRENT_FP8}"),
    ]
    slide.table(0.83, 2.1, (5.6, 2.6, 2.6), rows, size=20)
    slide.hide()


def main() -> None:
    deck = Presentation()
    deck.slide_width, deck.slide_height = Inches(13.333), Inches(7.5)
    deck.core_properties.title = "一块显卡能装下多少对话？"
    deck.core_properties.author = "vLLM Notes KB"
    pages = (cover, phases, per_token, budget, paging, waste, prefixes, batching, chunks, code, conclusion, spare)
    for page in pages:
        page(deck)
    deck.save(str(DECK))
    with tempfile.TemporaryDirectory() as profile:
        command = ["soffice", f"-env:UserInstallation=file://{profile}", "--headless", "--convert-to", PDF_FILTER]
        subprocess.run([*command, "--outdir", str(DECK.parent), str(DECK)], check=True, capture_output=True)


if __name__ == "__main__":
    main()
