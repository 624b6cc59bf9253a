"""txtai's hybrid index with content, over paragraphs packed by its own segmentation."""

from __future__ import annotations

from pathlib import Path

from pptx import Presentation
from pypdf import PdfReader
from txtai import Embeddings
from txtai.pipeline import Segmentation

from tests.bench.peers.protocol import PASSAGE_PREFIX, QUERY_PREFIX, TOP, Found, Search, measure


def text_of(path: Path) -> str:
    if path.suffix == ".pdf":
        return "\n\n".join(page.extract_text() for page in PdfReader(path).pages)
    if path.suffix == ".pptx":
        slides = Presentation(str(path)).slides
        return "\n\n".join(
            "\n".join(shape.text_frame.text for shape in slide.shapes if shape.has_text_frame) for slide in slides
        )
    return path.read_text("utf-8")


def ingest(paths: list[Path], model: str) -> Search:
    paragraphs = Segmentation(paragraphs=True, minlength=40)
    rows = [(f"{path}\t{number}", text) for path in paths for number, text in enumerate(paragraphs(text_of(path)))]
    embeddings = Embeddings(
        path=model,
        method="sentence-transformers",
        instructions={"query": QUERY_PREFIX, "data": PASSAGE_PREFIX},
        hybrid=True,
        content=True,
        gpu=False,
    )
    embeddings.index(rows)
    return lambda text: [Found(hit["id"].split("\t")[0], hit["text"]) for hit in embeddings.search(text, TOP)]


if __name__ == "__main__":
    measure(ingest)
