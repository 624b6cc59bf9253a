from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from generate import ledger as ledgers
from generate import outline, pipeline
from ingest.recordings.correct import correct
from kb.errors import BadRequest, UnreadableSource
from kb.types import Article, Decision, Document, Kind, Lang, Role, Talk
from tests.generate.talks import CAPTIONS, DECK, DOCUMENTS, NOTE, TALK, Pictures, document, heard


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "articles"


@pytest.fixture
def images(tmp_path: Path) -> Pictures:
    return Pictures(tmp_path)


def write(
    home: Path, images: Pictures, lang: Lang = "zh", *, talk: Talk = TALK, docs: tuple[Document, ...] = DOCUMENTS
) -> tuple[Article, str]:
    article = pipeline.write(talk, docs, home, transcript=heard(docs, lang), images=images, lang=lang)
    return article, Path(article.path).read_text(encoding="utf-8")


def test_a_talk_becomes_a_draft_that_says_what_it_is(home: Path, images: Pictures) -> None:
    article, text = write(home, images)
    front = yaml.safe_load(text.split("---\n")[1])
    assert front["curated"] is False
    assert front["status"] == "evidence-draft"
    assert (front["title"], front["slug"], front["lang"]) == ("KV 缓存", "kv-cache", "zh")
    assert (str(front["date"]), front["version"], front["talk"]) == ("2026-03-04", "0.33.0", "kv-cache")
    assert front["evidence"] == article.evidence == len(set(re.findall(r"^\[\^(E\w+)\]:", text, re.M)))
    assert '!!! note "这是证据草稿，还不是文章"' in text
    assert Path(article.path) == home / "kv-cache" / "index.zh.md"


def test_sections_are_the_slides_that_say_something_each_with_its_speech(home: Path, images: Pictures) -> None:
    _, text = write(home, images)
    assert re.findall(r"^## (.*)$", text, re.M) == ["分页管理", "前缀复用", "量化", "笔记：补充", "术语", "提醒"]
    paged = text.split("## 分页管理")[1].split("## 前缀复用")[0]
    assert "口述 00:04" in paged
    assert "讲者备注，第 3 页" in paged
    assert "block_size = 16  # <tokens>" in paged
    assert "前缀复用，相同的前缀" not in paged
    assert "音乐" not in text


def test_quotes_are_verbatim_and_footnotes_lead_to_the_second_and_the_page(home: Path, images: Pictures) -> None:
    article, text = write(home, images)
    assert not [finding for finding in article.findings if finding.severity == "P0"]
    used, defined = set(re.findall(r"\[\^(E\w+)\](?!:)", text)), set(re.findall(r"^\[\^(E\w+)\]:", text, re.M))
    assert used == defined
    assert "(https://v.example/w?t=4)" in text
    assert "(file:///talk/deck.pdf#page=3)" in text
    assert "`T:00:00:04.000-00:00:11.500`" in text


def test_figures_are_copied_as_webp_with_captions(home: Path, images: Pictures) -> None:
    article, text = write(home, images)
    assert "![图 1：分页管理（第 3 页）](figures/d1p003.webp)" in text
    figures = sorted(path.name for path in (home / "kv-cache" / "figures").iterdir())
    assert figures == ["d1p003.webp", "d1p004.webp"]
    assert (home / "kv-cache" / "figures" / figures[0]).read_bytes()[8:12] == b"WEBP"
    assert [finding.rule for finding in article.findings] == ["no-figure"]


def test_gaps_and_warnings_are_visible(home: Path, images: Pictures) -> None:
    article, text = write(home, images)
    assert "第 5 页有没能读出的图或文字" in text
    assert "置信度低的口述" in text
    assert "no alternative text" in text
    assert article.gaps == text.count("    - ")


def test_what_was_heard_is_told_where_a_quote_was_corrected(home: Path, images: Pictures) -> None:
    recording = CAPTIONS.model_copy(update={"source": CAPTIONS.source.model_copy(update={"kind": Kind.RECORDING})})
    _, text = write(home, images, docs=(DECK, correct(recording), NOTE))
    assert "> 最后是量化，KV cache 压到 FP8" in text
    (note,) = re.findall(r"^\[\^E\w+\]:.*识别为.*$", text, re.M)
    assert note.endswith("已更正；识别为“最后是量化，KV cash 压到 FP8”")
    assert "识别出的“KV cash”已改为“KV cache”" in text
    judged = [Decision(heard="KV cash", corrected="KV cache", accepted=accepted) for accepted in (True, False)]
    _, accepted = write(home, images, docs=(DECK, correct(recording, judged[:1]), NOTE))
    assert "识别为" in accepted, "a person vouches for the words, not that they were heard"
    assert "已改为" not in accepted
    _, rejected = write(home, images, docs=(DECK, correct(recording, judged[1:]), NOTE))
    assert "> 最后是量化，KV cash 压到 FP8" in rejected
    assert "已改为" not in rejected
    assert "识别为" not in rejected


def test_the_words_around_the_quotes_are_in_the_language_of_the_article(home: Path, images: Pictures) -> None:
    _, text = write(home, images, "en")
    assert '!!! note "This is an evidence draft, not an article yet"' in text
    assert "每个块保存 16 个 token" in text
    assert "kicker: Evidence draft" in text


def test_p36_nothing_hostile_of_the_material_reaches_the_draft(home: Path, images: Pictures) -> None:
    _, text = write(home, images)
    outside_code = re.sub(r"```.*?```", "", text, flags=re.S)
    assert "javascript:" not in outside_code
    assert "evil.example" not in outside_code
    assert not re.search(r"<[a-zA-Z]", outside_code)
    assert "块大小是 **16**" in text


# --- stages -----------------------------------------------------------------------------------------------------


def artefacts(home: Path) -> dict[str, Path]:
    return {path.name.split("-")[1]: path for path in sorted((home / "kv-cache").glob("*.json"))}


def test_a_second_run_does_nothing_again(home: Path, images: Pictures, monkeypatch: pytest.MonkeyPatch) -> None:
    first, text = write(home, images)
    assert list(artefacts(home)) == ["ledger", "outline", "draft", "check", "export"]
    before = {path: path.stat().st_mtime_ns for path in artefacts(home).values()}
    monkeypatch.setattr(ledgers, "build", None)
    monkeypatch.setattr(outline, "plan", None)
    second, again = write(home, images)
    assert (second, again) == (first, text)
    assert before.items() <= {path: path.stat().st_mtime_ns for path in before}.items() | before.items()


def test_an_edited_artefact_is_honoured_by_the_stages_after_it(home: Path, images: Pictures) -> None:
    write(home, images)
    path = artefacts(home)["outline"]
    plan = json.loads(path.read_text(encoding="utf-8"))
    plan["sections"] = [plan["sections"][1] | {"title": "命中率从哪里来"}]
    path.write_text(json.dumps(plan, ensure_ascii=False), encoding="utf-8")
    _, text = write(home, images)
    assert re.findall(r"^## (.*)$", text, re.M) == ["命中率从哪里来", "术语", "提醒"]


def test_an_edited_artefact_that_is_broken_says_where(home: Path, images: Pictures) -> None:
    write(home, images)
    artefacts(home)["outline"].write_text('{"title": "x"}', encoding="utf-8")
    with pytest.raises(UnreadableSource, match=r"02-outline-.*kicker.*delete it"):
        write(home, images)


def test_changed_material_makes_new_artefacts(home: Path, images: Pictures) -> None:
    write(home, images)
    write(home, images, docs=(DECK, NOTE))
    assert len(list((home / "kv-cache").glob("01-ledger-*.json"))) == 2


def test_edited_markdown_is_never_written_over(home: Path, images: Pictures) -> None:
    article, text = write(home, images)
    edited = text.replace("curated: false", "curated: true")
    Path(article.path).write_text(edited, encoding="utf-8")
    again, _ = write(home, images)
    assert Path(again.path).read_text(encoding="utf-8") == edited
    other, new = write(home, images, docs=(DECK,))
    assert Path(article.path).read_text(encoding="utf-8") == edited
    assert other.path != article.path
    assert "curated: false" in new
    assert "edited-draft-kept" in {finding.rule for finding in other.findings}


def test_unedited_markdown_is_replaced(home: Path, images: Pictures) -> None:
    article, _ = write(home, images)
    other, text = write(home, images, docs=(DECK,))
    assert other.path == article.path
    assert "口述" not in text


def test_no_temporary_file_stays(home: Path, images: Pictures) -> None:
    write(home, images)
    assert not list(home.rglob(".*"))


# --- other talks ------------------------------------------------------------------------------------------------


def test_speech_without_slides_is_cut_into_stretches(home: Path, images: Pictures) -> None:
    article, text = write(home, images, docs=(CAPTIONS,))
    assert "## 00:04 起：" in text
    assert article.evidence == 3


def test_a_deck_that_is_there_twice_is_quoted_once(home: Path, images: Pictures) -> None:
    parts = [(s.role, s.locator, s.text) for s in DECK.segments]
    twin = document(Kind.DECK, "deck.pptx", parts, pages=6)
    _, text = write(home, images, docs=(DECK, twin, CAPTIONS))
    assert text.count("块表把逻辑块映射到物理块，显存利用率由此提高") == 1
    assert "figures/d2p003.webp" in text


def test_of_two_transcripts_the_captions_are_quoted_and_the_other_is_named(home: Path, images: Pictures) -> None:
    parts = [(Role.SPEECH, s.locator, s.text + "嗯") for s in CAPTIONS.segments[1:]]
    recording = document(Kind.RECORDING, "talk.mp4", parts)
    _, text = write(home, images, docs=(recording, *DOCUMENTS))
    assert "嗯" not in text
    assert "talk.srt is quoted instead" in text


def test_many_slides_make_at_most_twelve_sections(home: Path, images: Pictures) -> None:
    parts = [
        part
        for n in range(2, 42)
        for part in [
            (Role.TITLE, DECK.segments[0].locator.model_copy(update={"number": n}), f"主题 {n}"),
            (
                Role.BODY,
                DECK.segments[0].locator.model_copy(update={"number": n}),
                f"这一页讲主题 {n} 的细节，块大小是 {n}。",
            ),
        ]
    ]
    article, text = write(home, images, docs=(document(Kind.DECK, "long.pdf", parts, pages=41),))
    assert len(re.findall(r"^## 主题", text, re.M)) == outline.MOST_SECTIONS
    assert article.evidence == 40


@pytest.mark.parametrize("name", ["", "../x", "a/b", "A B"])
def test_a_talk_id_that_is_no_slug_is_refused(home: Path, images: Pictures, name: str) -> None:
    with pytest.raises(BadRequest):
        write(home, images, talk=TALK.model_copy(update={"id": name}))
    assert not list(home.parent.glob("x*"))


def test_a_talk_without_sources_is_refused(home: Path, images: Pictures) -> None:
    with pytest.raises(BadRequest, match="no sources"):
        write(home, images, docs=())


def test_a_damaged_record_of_what_was_written_loses_no_draft(home: Path, images: Pictures) -> None:
    article, _ = write(home, images)
    next((home / "kv-cache").glob("05-export-*.json")).write_text("{")
    edited = Path(article.path)
    edited.write_text("mine", encoding="utf-8")
    again, _ = write(home, images)
    assert edited.read_text(encoding="utf-8") == "mine"
    assert Path(again.path) != edited
