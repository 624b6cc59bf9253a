"""The site in a browser: what scripts draw, what search finds, and that nothing is loaded from elsewhere."""

from __future__ import annotations

import functools
import http.server
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

pytestmark = pytest.mark.browser

CHROMIUM = shutil.which("chromium")
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip


class _Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Handler, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def page() -> Iterator[Page]:
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser.new_page()
        browser.close()


@pytest.mark.parametrize("lang", ["", "/en"])
def test_an_article_is_drawn_without_any_remote_request(page: Page, address: str, lang: str) -> None:
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(f"{address}{lang}/posts/kv-cache-arithmetic/")
    page.wait_for_selector("div.mermaid", state="attached")
    page.wait_for_selector("mjx-container")
    assert page.locator("mjx-merror").count() == 0
    assert [url for url in requests if not url.startswith((address, "data:", "blob:"))] == []


@pytest.mark.parametrize(("lang", "word", "title"), [
    ("", "显卡", "一块显卡能装下多少对话？"),
    ("/en", "preempt", "How many conversations fit on one card?"),
])  # fmt: skip
def test_the_ask_box_falls_back_to_the_search(page: Page, address: str, lang: str, word: str, title: str) -> None:
    page.goto(f"{address}{lang}/")
    page.fill("#kb-ask input", word)
    page.press("#kb-ask input", "Enter")
    result = page.locator(".md-search-result__item h1").first
    result.wait_for(state="visible")
    assert result.inner_text().replace("\u200b", "") == title


def test_the_ask_box_asks_a_service_that_is_there(page: Page, address: str) -> None:
    page.goto(f"{address}/")
    page.route(f"{address}/service/**", lambda route: route.fulfill(status=200, body="service"))
    page.eval_on_selector("#kb-ask", "(form, url) => { form.dataset.service = url; }", f"{address}/service")
    page.fill("#kb-ask input", "每个词元占多少？")
    page.press("#kb-ask input", "Enter")
    page.wait_for_url(f"{address}/service/?q=*")
    assert page.url.endswith("&mode=ask")
