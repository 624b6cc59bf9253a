"""A draft read with a writer's eyes: headings, places, what is said twice."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from generate import pipeline
from kb.types import Document, Flag, Kind, Lang, Role
from tests.generate.talks import TALK, Pictures, document, heard, page

COVER = (
    (Role.TITLE, page(1), "KV 缓存"),
    (Role.BODY, page(1), "How the KV cache works"),
    (Role.BODY, page(1), "每个词元的键和值都要留着，" * 14),
)
TWO_LANGUAGES = document(
    Kind.DECK,
    "deck.pdf",
    [
        *COVER,
        (Role.TITLE, page(2), "分页管理"),
        (Role.BODY, page(2), "Paging with block tables"),
        (Role.CODE, page(2), "0 → 7"),
        (Role.CODE, page(2), "1 → 4"),
        (Role.BODY, page(2), "块不必连续", Flag.LOW_CONFIDENCE),
        (Role.NOTES, page(2), "演示块表的查找过程。"),
        (Role.TITLE, page(3), "显存预算"),
        (
            Role.BODY,
            page(3),
            "The memory budget\n怎么分（GiB）\n| | 权重 | 缓存 |\n| --- | --- | --- |\n| 显存 | 15 | 5 |",
        ),
    ],
    pages=3,
)
ONE_LANGUAGE = document(
    Kind.DECK,
    "deck.pdf",
    [
        *COVER,
        *((Role.TITLE, page(n), f"第 {n} 节") for n in (2, 3, 4)),
        *((Role.BODY, page(n), f"这一节讲第 {n} 件事。") for n in (2, 3, 4)),
    ],
    pages=4,
)  # fmt: skip


def draft(folder: Path, *documents: Document, lang: Lang = "zh") -> str:
    folder.mkdir(exist_ok=True)
    transcript = heard(documents, lang)
    article = pipeline.write(
        TALK, documents, folder / "articles", transcript=transcript, images=Pictures(folder), lang=lang
    )
    assert [finding for finding in article.findings if finding.severity == "P0"] == []
    return Path(article.path).read_text("utf-8")


def headings(text: str) -> list[str]:
    return re.findall(r"^#+ (.*)$", text, re.M)


def test_headings_are_in_the_language_of_the_draft_where_the_deck_has_both(tmp_path: Path) -> None:
    chinese, english = (draft(tmp_path / lang, TWO_LANGUAGES, lang=lang) for lang in ("zh", "en"))
    assert headings(chinese)[:4] == ["KV 缓存", "开场", "分页管理", "显存预算"]
    assert headings(english)[:4] == [
        "How the KV cache works",
        "Opening",
        "Paging with block tables",
        "The memory budget",
    ]
    assert "Figure 2: Paging with block tables (page 2)" in english
    assert "\ntitle: How the KV cache works\n" in english
    assert "verbatim quotes from slides, for a writer" in english


def test_a_line_in_the_other_language_is_no_title_of_a_deck_in_one(tmp_path: Path) -> None:
    assert headings(draft(tmp_path, ONE_LANGUAGE, lang="en"))[:3] == ["KV 缓存", "Opening", "第 2 节"]


def test_a_heading_is_not_said_again_by_a_question_or_a_quote(tmp_path: Path) -> None:
    text = draft(tmp_path, TWO_LANGUAGES, lang="en")
    assert "What does the material say" not in text
    assert text.count("Paging with block tables") == 3  # the heading, the figure and its caption
    assert "> Paging with block tables" not in text


def test_what_one_slide_says_stands_under_its_name_once(tmp_path: Path) -> None:
    paging = draft(tmp_path, TWO_LANGUAGES).partition("## 分页管理")[2].partition("## ")[0]
    assert paging.count("**幻灯片第 2 页**") == 1
    shown = re.sub(r"\[\^EP\w{8}\]", "[^]", paging).partition("**幻灯片第 2 页**")[2]
    assert shown.startswith(
        "\n\n> Paging with block tables[^]\n\n```\n0 → 7\n1 → 4\n```\n\n[^] [^]\n\n> 块不必连续 (识别置信度低)[^]\n\n"
        "**讲者备注，第 2 页**[^]\n\n> 演示块表的查找过程。\n"
    )


def test_the_numbers_of_a_chart_are_a_table(tmp_path: Path) -> None:
    budget = draft(tmp_path, TWO_LANGUAGES).partition("## 显存预算")[2]
    assert (
        "> The memory budget  \n> 怎么分（GiB）\n\n| | 权重 | 缓存 |\n| --- | --- | --- |\n| 显存 | 15 | 5 |\n"
        in budget
    )
    assert "\\|" not in budget.partition("## ")[0]


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_times_have_one_form(tmp_path: Path, lang: Lang) -> None:
    from tests.generate.talks import DOCUMENTS

    text = draft(tmp_path, *DOCUMENTS, lang=lang)
    shown = re.sub(r"`T:[^`]*`", "", text)  # a locator is for machines
    assert re.findall(r"\d\d:\d\d:\d\d", shown) == []
    assert len(re.findall(r"\b\d\d:\d\d–\d\d:\d\d\b", shown)) >= 2


def test_a_question_that_somebody_wrote_is_shown(tmp_path: Path) -> None:
    draft(tmp_path, TWO_LANGUAGES)
    (outline,) = (tmp_path / "articles" / "kv-cache").glob("02-outline-*.json")
    outline.write_text(outline.read_text("utf-8").replace("关于“显存预算”，材料说了什么？", "钱花在哪里？"), "utf-8")
    assert "*钱花在哪里？*" in draft(tmp_path, TWO_LANGUAGES)
