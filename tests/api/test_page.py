"""The page in a real browser on a real service."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from api.auth import Keys
from api.models import Models
from api.routes.pages import WEB
from api.service import Service
from generate.llm import Message, Meter
from index.client import QdrantStore
from kb.settings import Settings
from tests.api.conftest import serving
from tests.api.test_talking import write_talk
from tests.fakes import FakeEmbedder, FakeTranscriber, Scripted, ScriptedModel
from tests.generate.material import citing

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip

browser_only = pytest.mark.browser
needs_chromium = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"there is no {CHROMIUM}")

HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script> [x](javascript:alert(1))'


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def address(filled: Service, notes: Path) -> Iterator[str]:
    (notes / "hostile.md").write_text(f"# Hostile zebra\n\nThe zebra says {HOSTILE}\n", encoding="utf-8")
    (notes / "published.md").write_text(
        "---\nurl: https://example.org/okapi\n---\n# Published okapi\n\nThe okapi is published elsewhere.\n",
        encoding="utf-8",
    )
    list(filled.add([notes]))
    with serving(filled, Keys(reader=None, owner="o")) as url:
        yield url


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    context = chromium.new_context(locale="en-GB")
    context.set_default_timeout(10_000)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext, address: str) -> Iterator[Page]:
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: None if request.url.startswith(address) else faults.append(request.url))
    page.goto(address)
    yield page
    assert faults == []


@browser_only
@needs_chromium
class TestPage:
    def test_searching_marks_words_and_keeps_the_question_in_the_address(self, page: Page) -> None:
        page.get_by_role("searchbox").fill("block size")
        page.keyboard.press("Enter")
        expect(page.locator(".hit").first).to_contain_text("--block-size")
        expect(page.locator(".hit mark").first).to_be_visible()
        assert "q=block+size" in page.url
        page.reload()
        expect(page.get_by_role("searchbox")).to_have_value("block size")
        expect(page.locator(".hit").first).to_be_visible()

    def test_what_stands_around_a_quote_is_folded_up(self, page: Page) -> None:
        page.get_by_role("searchbox").fill("block size")
        page.keyboard.press("Enter")
        around = page.locator(".hit").first.locator(".around")
        expect(around.get_by_text("A block table maps")).to_be_hidden()
        around.locator("summary").click()
        expect(around.get_by_text("A block table maps")).to_be_visible()
        expect(around.locator(".quoted")).to_contain_text("--block-size")

    def test_asking_answers_with_quotes_on_hover(self, page: Page) -> None:
        page.get_by_role("searchbox").fill("What does --block-size set?")
        page.get_by_role("button", name="Ask", exact=True).click()
        page.locator(".marker").first.hover()
        expect(page.get_by_role("tooltip")).to_contain_text("block size")
        page.locator(".marker").first.click()
        expect(page.locator("#citation-1 .open")).to_be_focused()

    def test_a_question_can_follow_on_an_answer(self, page: Page) -> None:
        page.get_by_role("searchbox").fill("What does --block-size set?")
        page.keyboard.press("Control+Enter")
        page.get_by_role("textbox", name="Ask on from here").fill("And why is it set?")
        page.keyboard.press("Enter")
        expect(page.locator("#answer")).to_contain_text("Understood as: ")
        expect(page.locator("#answer")).to_contain_text("--block-size")

    def test_an_answer_can_be_rated(self, page: Page) -> None:
        page.get_by_role("searchbox").fill("What does --block-size set?")
        page.keyboard.press("Control+Enter")
        page.get_by_role("button", name="Bad answer").click()
        expect(page.get_by_text("Thank you")).to_be_visible()
        expect(page.get_by_role("button", name="Bad answer")).to_have_attribute("aria-pressed", "true")

    def test_a_refusal_shows_why(self, page: Page) -> None:
        page.get_by_role("searchbox").fill("Who won the football match yesterday?")
        page.keyboard.press("Control+Enter")
        expect(page.locator(".refused")).to_contain_text("No answer")

    def test_the_keyboard_is_enough(self, page: Page) -> None:
        page.keyboard.press("Escape")
        page.keyboard.press("/")
        expect(page.get_by_role("searchbox")).to_be_focused()
        page.keyboard.type("KV cache blocks")
        page.keyboard.press("Enter")
        expect(page.locator(".hit").first).to_be_visible()
        page.keyboard.press("ArrowDown")
        expect(page.locator("a.open").first).to_be_focused()
        page.keyboard.press("ArrowUp")
        expect(page.get_by_role("searchbox")).to_be_focused()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile(r"/source/"))

    def test_a_local_source_opens_at_the_cited_lines(self, page: Page) -> None:
        page.get_by_role("searchbox").fill("block table maps")
        page.keyboard.press("Enter")
        page.locator("a.open").first.click()
        page.wait_for_url(re.compile(r"/source/.+#L\d+-\d+"))
        expect(page.locator(".cited").first).to_be_in_viewport()
        expect(page.locator(".cited").first).to_contain_text("block")

    def test_speech_stands_beside_the_slide_that_was_on_the_screen(
        self, page: Page, filled: Service, address: str, tmp_path: Path
    ) -> None:
        list(filled.add([write_talk(tmp_path / "talk")]))
        page.goto(f"{address}/?q=block+table+sits+between&kind=captions")
        expect(page.locator("li.pictured img.slide").first).to_have_attribute("alt", "Page 3")
        captions = next(entry.source for entry in filled.sources() if entry.source.kind == "captions")
        page.goto(f"{address}/source/{captions.id}#t=100000-104000")
        expect(page.locator(".screened aside")).to_contain_text(["Page 1", "Page 2", "Page 3", "Page 4"])
        beside = page.locator(".screened", has=page.locator(".cited"))
        expect(beside.locator("aside img")).to_have_attribute("src", re.compile(r"/pages/3\.webp$"))

    def test_a_published_source_opens_where_it_is_published(self, page: Page) -> None:
        page.get_by_role("searchbox").fill("okapi published elsewhere")
        page.keyboard.press("Enter")
        link = page.locator("a.open", has_text="okapi").first
        expect(link).to_have_attribute("href", re.compile(r"^https://example\.org/okapi"))
        expect(link).to_have_attribute("rel", re.compile("noopener"))

    def test_the_language_is_switched_and_remembered(self, page: Page) -> None:
        page.get_by_role("button", name="中文").click()
        expect(page.get_by_role("button", name="提问", exact=True)).to_be_visible()
        page.reload()
        expect(page.get_by_role("button", name="提问", exact=True)).to_be_visible()
        assert page.locator("html").get_attribute("lang") == "zh-Hans"

    def test_filters_narrow_and_clear(self, page: Page) -> None:
        page.get_by_role("searchbox").fill("缓存 cache")
        page.keyboard.press("Enter")
        page.get_by_label("Language").select_option("zh")
        page.wait_for_url(re.compile("lang=zh"))
        expect(page.locator(".hit blockquote").first).to_have_attribute("lang", "zh")
        page.get_by_role("button", name="Clear filters").click()
        page.wait_for_url(re.compile(r"^[^&]*$"))

    def test_p36_a_hostile_document_stays_text(self, page: Page) -> None:
        page.get_by_role("searchbox").fill("zebra")
        page.keyboard.press("Enter")
        hit = page.locator(".hit", has_text="zebra").first
        expect(hit).to_contain_text("onerror=")
        assert page.locator(".hit img, .hit script").count() == 0
        hit.locator("a.open").click()
        expect(page.locator(".segment", has_text="onerror=").first).to_be_visible()
        assert "zebra" in page.title()

    def test_errors_say_what_to_do(self, context: BrowserContext, address: str) -> None:
        page = context.new_page()
        page.route("**/v1/search", lambda route: route.abort())
        page.goto(f"{address}/?q=x")
        expect(page.get_by_role("alert")).to_contain_text("kb serve")

    def test_a_filter_that_the_address_names_is_shown_and_can_be_cleared(self, page: Page) -> None:
        page.goto(page.url + "?q=block&version=9.9")
        expect(page.get_by_label("Version")).to_have_value("9.9")
        expect(page.locator("#status")).to_contain_text("Nothing found")
        page.get_by_role("button", name="Clear filters").click()
        expect(page.locator(".hit").first).to_be_visible()

    @pytest.mark.parametrize("colours", ["light", "dark"])
    @pytest.mark.parametrize("width", [390, 1280])
    def test_nothing_is_wider_than_the_window(
        self, page: Page, filled: Service, address: str, tmp_path: Path, width: int, colours: Literal["light", "dark"]
    ) -> None:
        list(filled.add([write_talk(tmp_path / "talk")]))
        page.emulate_media(color_scheme=colours)
        page.set_viewport_size({"width": width, "height": 800})
        deck = next(entry.source.id for entry in filled.sources() if entry.source.kind == "deck")
        for path in (
            "",
            "?q=block+table+sits+between",
            "?mode=ask&q=What+does+a+block+table+do%3F",
            f"source/{deck}#page=2",
        ):
            page.goto(f"{address}/{path}")
            expect(page.locator("main")).to_be_visible()
            page.wait_for_load_state("networkidle")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path

    def test_what_is_strong_or_code_is_shown_so(self, page: Page) -> None:
        page.goto(page.url + "?mode=ask&q=What+does+--block-size+set%3F")
        expect(page.locator(".answer .prose code").first).to_have_text("--block-size")
        expect(page.locator(".answer")).not_to_contain_text("`")

    def test_a_title_and_code_are_shown_without_their_marks(self, page: Page, filled: Service, notes: Path) -> None:
        (notes / "marked.md").write_text("# Quagga\n\nText.\n\n```python\nquagga = 1\n```\n", encoding="utf-8")
        list(filled.add([notes / "marked.md"]))
        source = next(entry.source.id for entry in filled.sources() if entry.source.title == "Quagga")
        page.goto(f"{page.url}source/{source}")
        expect(page.locator(".segment.title p")).to_have_text("Quagga")
        expect(page.locator(".segment.code pre")).to_have_text("quagga = 1")

    def test_an_answer_is_in_the_language_of_its_question(self, page: Page) -> None:
        page.goto(page.url + "?mode=ask&q=谁赢了昨天的足球赛？")
        expect(page.locator(".refused h2")).to_have_text("无法回答")
        expect(page.locator("h2.section")).to_have_text("最接近的依据")
        assert page.locator("html").get_attribute("lang") == "en"

    def test_what_is_not_there_is_said_in_the_language_of_the_page(self, context: BrowserContext, address: str) -> None:
        page = context.new_page()
        page.goto(address)
        page.get_by_role("button", name="中文").click()
        page.goto(f"{address}/?q=x&talk=nowhere")
        expect(page.get_by_role("alert")).to_contain_text("这里没有您要找的内容")

    def test_every_control_has_a_name(self, page: Page) -> None:
        page.goto(page.url + "?q=block&mode=ask")
        expect(page.locator("#answer")).not_to_be_empty()
        nameless = page.evaluate(
            "() => [...document.querySelectorAll('button, input, select, a, img')].filter(n => n.offsetParent"
            " && !(n.textContent.trim() || n.getAttribute('aria-label') || n.alt !== undefined"
            " || n.labels?.length)).map(n => n.outerHTML)"
        )
        assert nameless == []


@browser_only
@needs_chromium
def test_a_guarded_service_asks_for_its_key(filled: Service, context: BrowserContext) -> None:
    key = "a-key-of-sufficient-length"
    with serving(filled, Keys(reader=key, owner="o")) as url:
        page = context.new_page()
        page.goto(url + "/?q=block+size")
        page.get_by_label("Key").fill(key)
        page.get_by_role("button", name="Use key").click()
        expect(page.locator(".hit").first).to_be_visible()
        page.close()


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("ink", "ground"),
    [
        ("ink", "ground"), ("ink", "card"), ("dim", "ground"), ("dim", "card"), ("accent", "card"),
        ("accent", "ground"),
        ("on-accent", "accent"), ("mark-ink", "mark"), ("warn", "warn-ground"), ("ink", "warn-ground"),
        ("dim", "cited"),
    ],
)  # fmt: skip
def test_contrast_is_at_least_aa(theme: int, ink: str, ground: str) -> None:
    """WCAG 2.2, 1.4.3: 4.5 to 1 for text."""
    css = (WEB / "app.css").read_text("utf-8")
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", css.split("@media (prefers-color-scheme: dark)")[theme]))
    light, dark = sorted((_luminance(colours[ink]), _luminance(colours[ground])), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_the_page_needs_nothing_from_elsewhere_and_inlines_nothing() -> None:
    for file in WEB.iterdir():
        text = file.read_text("utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text), file.name
        if file.suffix == ".html":
            assert not re.search(r"<script(?![^>]*src=)|\son\w+=|style=|https?://", text), file.name
        if file.suffix == ".css":
            assert "url(" not in text
            assert "@import" not in text


def test_both_languages_say_everything() -> None:
    text = (WEB / "text.js").read_text("utf-8")
    english, chinese = re.search(r"en: \{(.*?)\n  \},\n  zh: \{(.*?)\n  \},", text, re.DOTALL).groups()  # type: ignore[union-attr]
    keys = [re.findall(r"(?:^\s*|[,{]\s*)(\w+): ?(?=[\"(])", body, re.MULTILINE) for body in (english, chinese)]
    assert sorted(keys[0]) == sorted(keys[1])
    used = set(re.findall(r'data-i18n(?:-label)?="(\w+)"', "".join(f.read_text("utf-8") for f in WEB.glob("*.html"))))
    used |= set(re.findall(r'say\("(\w+)"', "".join(f.read_text("utf-8") for f in WEB.glob("*.js"))))
    assert used <= set(keys[0])


# --- an answer on its way ---------------------------------------------------------------------------------------


class PausingModel(ScriptedModel):
    """Goes on behind the first sentence when `go` is set."""

    def __init__(self, *replies: Scripted) -> None:
        super().__init__(*replies)
        self.go = threading.Event()

    def stream(self, message: Message, *, schema: object = None, meter: Meter | None = None) -> Iterator[str]:
        self.messages.append(message)
        first, *others = str(self.replies.pop(0)(message)).split("]}, ")  # type: ignore[operator]
        yield f"{first}]}}, "
        assert self.go.wait(30)
        yield "]}, ".join(others)


@browser_only
@needs_chromium
def test_sentences_appear_while_the_answer_is_written(settings: Settings, notes: Path, chromium: Browser) -> None:
    first = ("The flag `--block-size` sets the block size.",) * 2
    second = ("The KV cache is cut into blocks of 16 tokens.",) * 2
    model = PausingModel(citing(first, second))
    models = Models(settings, embedder=FakeEmbedder(), transcriber=FakeTranscriber(), llm=model)
    with Service(settings, QdrantStore(":memory:", collection="notes"), models) as service:
        list(service.add([notes]))
        with serving(service, Keys(reader=None, owner="the-owner-token")) as url, chromium.new_context() as context:
            page = context.new_page()
            page.goto(f"{url}/?mode=ask&q=What+does+--block-size+set%3F")
            expect(page.locator(".answer .prose")).to_contain_text(first[0].replace("`", ""))
            expect(page.locator(".answer")).to_contain_text("Being written")
            expect(page.locator("#citation-1 blockquote")).to_contain_text(first[1].replace("`", ""))
            model.go.set()
            expect(page.locator(".answer")).to_contain_text("Written by a language model")
            expect(page.locator(".answer .prose")).to_contain_text(second[0])
            expect(page.locator(".answer .marker")).to_have_count(2)
