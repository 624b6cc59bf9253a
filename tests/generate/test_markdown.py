from __future__ import annotations

import html
import re
import string
from pathlib import Path

import markdown as python_markdown  # type: ignore[import-untyped]  # the parser of the site
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from generate import markdown
from kb.text import fold

HOSTILE = st.text(alphabet="ab <>[]()!`*_#|\\{}:/&;-1.\n中&javascript", max_size=60)
RENDER = MarkdownIt("commonmark", {"html": True})


def shown(source: str) -> str:
    """The text that a reader sees."""
    tokens = [child for token in RENDER.parse(source) for child in token.children or []]
    return "".join(token.content if token.type in ("text", "code_inline") else " " for token in tokens)


@given(HOSTILE)
def test_escaped_text_is_shown_as_it_is_and_is_nothing_else(text: str) -> None:
    tokens = RENDER.parse(markdown.escape(text))
    assert {token.type for token in tokens} <= {"paragraph_open", "inline", "paragraph_close"}
    assert {child.type for token in tokens for child in token.children or []} <= {"text", "text_special"}
    assert fold("".join(c.content for t in tokens for c in t.children or [])).text == fold(" ".join(text.split())).text


@pytest.mark.parametrize("mark", string.punctuation)
def test_the_sites_parser_shows_escaped_text_as_it_is(mark: str) -> None:
    """Of backslashes before some marks it makes text; each is tried where it might open something, and within."""
    settings = (Path(__file__).resolve().parents[2] / "site" / "mkdocs.yml").read_text("utf-8")
    block = settings.partition("markdown_extensions:\n")[2].partition("\n\n")[0]
    extensions = re.findall(r"^  ([\w.]+):", block, re.MULTILINE)
    assert {"tables", "footnotes", "attr_list"} <= set(extensions)
    for text in (f"{mark} 128 KiB", f"a {mark}b{mark} c", f"{mark}{mark} x", f"x {mark}", f"{mark}x{mark}"):
        page = python_markdown.markdown(markdown.escape(text), extensions=extensions)
        assert html.unescape(re.sub(r"<[^>]+>", "", page)) == text


@given(HOSTILE)
def test_disarmed_markdown_has_no_html_no_link_and_no_image(text: str) -> None:
    tokens = RENDER.parse(markdown.disarm(text))
    kinds = {token.type for token in tokens} | {c.type for token in tokens for c in token.children or []}
    assert not kinds & {"html_block", "html_inline", "image"}


@pytest.mark.parametrize(
    "text",
    [
        "[a [b](c)](https://evil.example/x)",
        "[a [b][c]](https://evil.example/x)",
        "[`kv`](https://evil.example/x)",
        "[a\nb](https://evil.example/x)",
        "[a](https://evil.example/x_(y)_z)",
        "\\`[a](https://evil.example/x)\\`",
        "``[a](https://evil.example/x)`",
        "`\n\n[a](https://evil.example/x)\n\n`",
        "a ` b\n`[a](https://evil.example/x)` c `",
        "- ` a\n- [a](https://evil.example/x) `",
    ],
)
def test_p36_no_link_of_a_quote_is_left_whatever_stands_in_it(text: str) -> None:
    assert "<a" not in RENDER.render(markdown.disarm(text))
    assert "<a" not in python_markdown.markdown(markdown.disarm(text))


def test_code_stays_as_it_is_and_a_lone_mark_of_code_is_shown() -> None:
    code = "`a[0](x)` and ``b`c``\n\n```python\nkernel[grid](x)\n\n<b>\n```"
    assert markdown.disarm(code) == code
    assert shown(markdown.disarm("a ` b")) == "a ` b"
    assert "<img" not in RENDER.render(markdown.disarm("\\`<img src=x>\\`"))


def test_brackets_are_disarmed_in_time_that_grows_with_their_number() -> None:
    assert markdown.disarm("[" * 100_000) == "[" * 100_000


@pytest.mark.parametrize(
    "text", ["[x]: //a.example\n\n[x]", "> [x]: <javascript:alert(1)>\n\n[x]", "  [^1]: y\n\n[^1]"]
)
def test_p36_a_quote_defines_no_target(text: str) -> None:
    rendered = RENDER.render(markdown.disarm(text))
    assert "<a" not in rendered
    assert "]:" in rendered


@given(st.text(alphabet="`~ab\n #", max_size=40))
def test_code_cannot_leave_its_fence(code: str) -> None:
    (token,) = RENDER.parse(markdown.fence(code, "python"))
    assert (token.type, token.info) == ("fence", "python")
    assert token.content.rstrip() == code.rstrip()


def test_a_fenced_text_is_unwrapped_and_an_odd_info_is_dropped() -> None:
    assert markdown.unfence("```python\nx = 1\n```") == ("x = 1", "python")
    assert markdown.unfence("x = 1") == ("x = 1", "")
    assert markdown.fence("x", 'py" onclick=') == "```\nx\n```"


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://a.example/x?t=4", "https://a.example/x?t=4"),
        ("file:///a b.pdf#page=3", "file:///a%20b.pdf#page=3"),
        ("https://a.example/)<script>", "https://a.example/%29%3Cscript%3E"),
        ("javascript:alert(1)", None),
        ("data:text/html,x", None),
        ("//evil.example", None),
        ("http://[broken", None),
    ],
)
def test_only_web_and_file_addresses_become_links(url: str, target: str | None) -> None:
    assert markdown.href(url) == target


def test_a_formula_opens_no_tag() -> None:
    assert not re.search(r"<[a-z]", markdown.math("$a<b$"))
