"""The built site, both languages, as readers get it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]


class Page(HTMLParser):
    """Tags with their attributes, and the text of the article."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.text: list[str] = []
        self.html = path.read_text(encoding="utf-8")
        self.feed(self.html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def values(self, tag: str, attribute: str) -> list[str]:
        return [attrs[attribute] for name, attrs in self.tags if name == tag and attribute in attrs]

    @property
    def ids(self) -> set[str]:
        return {attrs["id"] for _, attrs in self.tags if "id" in attrs}


def slugs(lang: str) -> list[str]:
    return sorted(path.stem for path in (ROOT / "site/docs" / lang / "posts").glob("*.md"))


def post(site: Path, lang: str, slug: str) -> Page:
    return Page(site / ("" if lang == "zh" else "en") / "posts" / slug / "index.html")


def test_both_languages_are_built_and_p43_the_second_leaves_the_first(site: Path) -> None:
    assert (site / "index.html").is_file()
    assert (site / "en/index.html").is_file()
    assert 'lang="zh"' in (site / "index.html").read_text(encoding="utf-8")
    assert 'lang="en"' in (site / "en/index.html").read_text(encoding="utf-8")


def test_the_home_page_has_a_card_for_each_post(site: Path) -> None:
    for lang, path in (("zh", site / "index.html"), ("en", site / "en/index.html")):
        page = Page(path)
        cards = [attrs["href"] for tag, attrs in page.tags if tag == "a" and attrs.get("class") == "kb-card"]
        assert sorted(cards) == [f"posts/{slug}/" for slug in slugs(lang)]
        text = "".join(page.text)
        for slug in slugs(lang):
            front = (ROOT / "site/docs" / lang / "posts" / f"{slug}.md").read_text(encoding="utf-8")
            for key in ("title", "kicker", "abstract"):
                found = re.search(rf"^{key}: (.+)$", front, re.MULTILINE)
                assert found, key
                assert found[1].strip("'\"") in text


def test_only_curated_posts_are_published(site: Path) -> None:
    for name in ("draft", "unmarked"):
        assert not (site / "posts" / name).exists()
    assert "未经校对" not in (site / "search/search_index.json").read_text(encoding="utf-8").replace("\u200b", "")
    assert "还没有校对" not in (site / "index.html").read_text(encoding="utf-8")


def test_each_post_leads_to_its_twin(site: Path) -> None:
    for slug in set(slugs("zh")) & set(slugs("en")):
        for lang, other in (("zh", "en"), ("en", "zh")):
            page = post(site, lang, slug)
            links = [attrs["href"] for _, attrs in page.tags if attrs.get("hreflang") == other]
            assert links
            start = site / ("" if lang == "zh" else "en") / "posts" / slug
            target = site / ("" if other == "zh" else "en") / "posts" / slug
            assert all((start / link).resolve() == target.resolve() for link in links)


def test_the_language_link_of_every_page_leads_to_a_page(site: Path) -> None:
    for path in site.rglob("index.html"):
        for _, attrs in Page(path).tags:
            if "hreflang" in attrs:
                assert (path.parent / attrs["href"] / "index.html").resolve().is_file(), path


def test_english_posts_that_no_model_translated_say_so(site: Path) -> None:
    text = "".join(post(site, "en", "kv-cache-arithmetic").text)
    assert "Written in English directly; no model translated it." in text


def test_no_page_needs_a_remote_asset(site: Path) -> None:
    """Links may lead elsewhere; nothing that a browser loads by itself may."""
    for path in site.rglob("*.html"):
        page = Page(path)
        loaded = [
            *page.values("script", "src"),
            *page.values("img", "src"),
            *page.values("source", "src"),
            *page.values("iframe", "src"),
            *[attrs["href"] for tag, attrs in page.tags if tag == "link" and attrs.get("rel") != "canonical"],
        ]
        assert [address for address in loaded if urlsplit(address).netloc] == [], path
    for path in site.rglob("*.css"):
        style = path.read_text(encoding="utf-8")
        assert not re.search(r"(?:url\(\s*[\"']?|@import\s+[\"'])(?:https?:)?//", style), path


def test_every_asset_that_a_page_names_is_there(site: Path) -> None:
    for path in site.rglob("index.html"):
        page = Page(path)
        for address in [*page.values("script", "src"), *page.values("img", "src"), *page.values("link", "href")]:
            target = urlsplit(address)
            if not target.netloc:
                assert (path.parent / unquote(target.path)).resolve().exists(), (path, address)


def test_p36_no_page_carries_a_script_of_a_document(site: Path) -> None:
    for lang in ("zh", "en"):
        for slug in slugs(lang):
            page = post(site, lang, slug)
            article = page.html[page.html.index("<article") : page.html.index("</article>")]
            assert "<script" not in article
            for _, attrs in page.tags:
                assert not any(name.startswith("on") for name in attrs)
            assert "javascript:" not in article


def test_p41_search_finds_a_word_in_the_middle_of_a_chinese_title(site: Path) -> None:
    """The index as the browser reads it: split at the separator, words compared whole."""
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    separator = index["config"]["separator"]
    assert "\\u200b" in separator
    pattern = re.compile(separator.replace("\\u200b", "\u200b"))

    def titles(query: str) -> list[str]:
        return [
            entry["title"].replace("\u200b", "")
            for entry in index["docs"]
            if any(word.startswith(query) for word in pattern.split(entry["title"]))
        ]

    assert "一块显卡能装下多少对话？" in titles("显卡")
    assert "一块显卡能装下多少对话？" in titles("对话")
    assert titles("一块显卡能装下多少对话") == [], "the title was taken as one word: jieba is missing"


def test_p42_anchors_keep_their_hanzi(site: Path) -> None:
    headings = post(site, "zh", "kv-cache-arithmetic").ids
    assert {"为什么先看显存", "哪种办法有用"} <= headings
    for path in site.rglob("index.html"):
        assert not any(re.fullmatch(r"_\d+", anchor) for anchor in Page(path).ids), path


def test_footnotes_lead_to_the_second_and_the_page(site: Path) -> None:
    for lang in ("zh", "en"):
        links = post(site, lang, "kv-cache-arithmetic").values("a", "href")
        assert any(re.fullmatch(r"https://example\.com/talks/kv-cache-arithmetic\?t=\d+", link) for link in links)
        assert any(link.endswith("#page=4") for link in links)


def test_large_scripts_come_only_with_pages_that_need_them(site: Path) -> None:
    vendored = re.compile(r"assets/vendor/")
    assert len(vendored.findall((site / "posts/kv-cache-arithmetic/index.html").read_text(encoding="utf-8"))) == 2
    assert not vendored.search((site / "index.html").read_text(encoding="utf-8"))


def test_the_site_folder_holds_no_python() -> None:
    assert list((ROOT / "site").rglob("*.py")) == []


def test_vendored_files_carry_their_licences() -> None:
    vendor = ROOT / "site/overrides/assets/vendor"
    for folder in vendor.iterdir():
        if folder.is_dir():
            assert (folder / "LICENSE").is_file(), folder
    assert sum(path.stat().st_size for path in vendor.rglob("*") if path.is_file()) < 6 * 2**20


@pytest.mark.parametrize(
    "body",
    [
        "<script>alert(1)</script>",
        "Text <img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "*x*{ title='}' onclick=alert(1) }",
        "<a href=' java\tscript:alert(1)'>x</a>",
        "![x](https://evil.example/pixel.png)",
        "<iframe src=x></iframe>",
    ],
)
def test_p36_a_page_that_acts_stops_the_build(tmp_path: Path, body: str) -> None:
    (tmp_path / "docs/posts").mkdir(parents=True)
    (tmp_path / "docs/index.md").write_text("# Home\n", encoding="utf-8")
    (tmp_path / "docs/posts/x.md").write_text(f"---\ncurated: true\n---\n# T\n\n{body}\n", encoding="utf-8")
    hooks = ROOT / "deploy/site_hooks.py"
    (tmp_path / "mkdocs.yml").write_text(
        f"site_name: T\nhooks: [{hooks}]\ntheme: {{name: mkdocs, language: en}}\nmarkdown_extensions: [attr_list]\n"
    )
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert built.returncode != 0
    assert "posts/x.md holds" in built.stderr + built.stdout
    assert not (tmp_path / "site/posts/x/index.html").exists()
