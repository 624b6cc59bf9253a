"""A small library in memory: notes through the real reader, chunker and index, and hits made by hand."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from generate.llm import Message
from index.client import QdrantStore
from index.embed import DENSE
from index.search import Searcher
from index.sparse import document_vector
from index.store import IndexRecipe, Point
from ingest.chunking.chunk import split
from ingest.load import load
from ingest.parsed import Reading
from kb.settings import Settings
from kb.text import detect_lang, stable_id
from kb.types import Chunk, Document, Hit, Kind, Mark, Rank, Role, Source, Span
from tests.fakes import FakeEmbedder

NOTES = {
    "vllm_docs_0.33.0/scheduler.md": """# Scheduler

## Chunked prefill

Chunked prefill splits a long prompt into pieces, so that decode steps are not blocked.
Set `max_num_batched_tokens` to 2048 for a lower inter-token latency. The default value is 8192 tokens.

## Eviction

| Parameter | Default | Meaning |
| --- | --- | --- |
| `cpu_offload_gb` | 4 | GiB of host memory for offloaded weights |
| `eviction_policy` | `lru` | Which block leaves first, `lru` or `arc` |

Blocks are evicted because the pool is full. This does not change the output.
""",
    "块池.md": """# 块池

块池使用 `(block_hash, group_id)` 作为缓存键，所以同一个哈希可以对应多个组。

每个块保存 16 个 token 的键和值。引用计数归零的块回到空闲队列，按最近最少使用的顺序淘汰。

前缀缓存把命中率提高到 87.5%，每天服务超过 5 亿次请求。
""",
}


def documents(folder: Path, notes: Mapping[str, str] = NOTES) -> list[Document]:
    found = []
    for name, text in notes.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        found.append(load(path, Reading(Settings())))
    return found


def searcher(parsed: list[Document]) -> Searcher:
    """The real search over `parsed`, with a fake embedder."""
    embedder = FakeEmbedder()
    store = QdrantStore(":memory:", collection="test")
    store.ensure(IndexRecipe("test", {DENSE: embedder.dimension}))
    points = [
        Point(
            chunk, document.source, "r1", {DENSE: embedder.embed_passages([chunk.full_text])[0]}, document_vector(chunk)
        )
        for document in parsed
        for chunk in split(document, count_tokens=embedder.count_tokens, max_tokens=160)
    ]
    store.upsert(points)
    return Searcher(store, {DENSE: embedder})


def hit(
    text: str, *, title: str = "Note", role: Role = Role.BODY, context: str = "", version: str | None = None
) -> Hit:
    """A hit on a chunk that holds `text`, whose lines are the lines of a note."""
    source = Source(
        id=stable_id(title), kind=Kind.NOTE, uri=f"file:///{title}.md", sha256="0", title=title, version=version
    )
    mark = Mark(line_start=1, line_end=1 + text.count("\n"))
    chunk = Chunk(
        id=stable_id(title, text),
        source_id=source.id,
        order=0,
        text=text,
        context=context,
        spans=(Span(start=0, end=len(text), order=0, offset=0, locator=mark),),
        role=role,
        lang=detect_lang(text),
        tokens=len(text) // 2,
        recipe="test",
    )
    return Hit(
        chunk=chunk,
        source=source,
        score=1.0,
        ranks=(Rank(list="lexical", rank=1, score=1.0),),
        quote=text[:20],
        locator=mark,
        href=mark.href(source),
    )


def citing(*claims: tuple[str, str]) -> Callable[[Message], str]:
    """Claims with a quote each, cited to whichever evidence holds the quote."""

    def make(message: Message) -> str:
        blocks = re.findall(r"\[(e\w{7})\] [^\n]*\n(.*?)(?=\n\n\[e\w{7}\] |\n</evidence)", message.user, re.S)
        found = []
        for text, quote in claims:
            key = next((key for key, body in blocks if quote in body), "e0000000")
            found.append({"text": text, "support": [{"id": key, "quote": quote}]})
        return json.dumps({"claims": found}, ensure_ascii=False)

    return make
