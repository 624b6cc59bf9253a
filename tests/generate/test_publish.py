from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from generate import pipeline
from generate.publish import publish
from kb.errors import BadRequest, NotFound, UnreadableSource
from tests.generate.talks import DOCUMENTS, TALK, Pictures, heard

FRONT = "---\ntitle: T\nkicker: K\nabstract: A\ncurated: true\ntags: [vLLM]\n---\n"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return tmp_path / "site"


def draft(tmp_path: Path, body: str, front: str = FRONT, lang: str = "en") -> Path:
    folder = tmp_path / "articles" / "t"
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    (folder / "figures" / "a.webp").write_bytes(b"RIFF0000WEBP")
    (folder / f"index.{lang}.md").write_text(front + body, encoding="utf-8")
    return folder


def test_a_written_draft_can_be_published_once_reviewed(tmp_path: Path, site: Path) -> None:
    pipeline.write(TALK, DOCUMENTS, tmp_path / "articles", transcript=heard(), images=Pictures(tmp_path), lang="zh")
    folder = tmp_path / "articles" / TALK.id
    with pytest.raises(BadRequest, match="set `curated: true`"):
        publish(TALK.id, folder, site, reviewed=False)
    assert not site.exists()
    assert publish(TALK.id, folder, site, reviewed=True) == (site / "docs/zh/posts/kv-cache.md",)
    text = (site / "docs/zh/posts/kv-cache.md").read_text(encoding="utf-8")
    assert yaml.safe_load(text.split("---\n")[1])["curated"] is True
    assert "](kv-cache/d1p003.webp)" in text
    assert (site / "docs/zh/posts/kv-cache/d1p003.webp").is_file()
    assert "file:" not in text
    assert "https://v.example/w?t=4" in text


def test_only_reviewed_languages_go_out(tmp_path: Path, site: Path) -> None:
    draft(tmp_path, "# T\n", FRONT.replace("true", "false"), "zh")
    folder = draft(tmp_path, "# T\n")
    assert publish("t", folder, site, reviewed=False) == (site / "docs/en/posts/t.md",)


def test_other_front_matter_is_kept(tmp_path: Path, site: Path) -> None:
    (path,) = publish("t", draft(tmp_path, "# T\n"), site, reviewed=False)
    front = yaml.safe_load(path.read_text(encoding="utf-8").split("---\n")[1])
    assert front["tags"] == ["vLLM"]
    assert (front["slug"], front["lang"]) == ("t", "en")


HOSTILE = (
    "<script>alert(1)</script>",
    "Hello <img src=x onerror=alert(1)>",
    "<!-- comment -->",
    "`code` and <b>bold</b>",
    "\\`<script>alert(1)</script>\\`",
    "[x](javascript:alert(1))",
    "a ` b\n`[x](javascript:alert(1))` c",
    "a `` b `[x](javascript:alert(1))` c",
    "a \\\\` b `[x](javascript:alert(1))` c",
    "[x](JaVa\tScript&colon;alert(1))",
    "[x](java%73cript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](data:text/html;base64,xx)",
    "[x](//evil.example/a)",
    "[x](../../../etc/passwd)",
    "[x][1]\n\n[1]: javascript:alert(1)",
    "![x](https://evil.example/pixel.png)",
    "![x](figures/missing.webp)",
    "![x](figures/../../x.webp)",
    "[x](https://a.example){: onclick=alert(1) }",
    "# T { style='x' onload=alert(1) }",
    '--8<-- "/etc/passwd"',
    "A claim[^1].",
    "```x <script>\n<script>alert(1)</script>\n```",
    "```\n<script>alert(1)</script>",
    "> ```\n<script>alert(1)</script>\n> ```",
    "    ```\n<script>alert(1)</script>\n    ```",
    "!!! note\n\n    <script>alert(1)</script>",
    "| a |\n| --- |\n| <iframe src=x> |",
    "[^1]: x\n\n    <script>alert(1)</script>",
    # What the site's parser takes for text, although it looks like code or like another line.
    '```python onclick="x"\n\n<script>alert(1)</script>\n\n```',
    "``` foo bar\n\n<script>alert(1)</script>\n\n```",
    '```python linenums="x"\n\n<script>alert(1)</script>\n\n```',
    "```python title='a'b\n\n<script>alert(1)</script>\n\n```",
    "```\x0c\n\n<script>alert(1)</script>\n\n```",
    "```\u2028\n\n<script>alert(1)</script>\n\n```",
    "> [x]: //evil.example/a\n\n[x]",
    "[x]:\n//evil.example/a\n\n[x]",
    "[x](\n//evil.example/a)",
    "![x][1]\n\n[1]: https://evil.example/pixel.png",
    '*x*{ title="}" onclick=alert(1) }',
    "$$\n\\href{java\nscript:alert(1)}{x}\n$$",
    "$\\href{https://evil.example}{x}$",
)


@pytest.mark.parametrize("body", HOSTILE)
def test_p36_what_must_not_reach_readers_is_refused_and_nothing_is_written(
    tmp_path: Path, site: Path, body: str
) -> None:
    with pytest.raises(BadRequest, match="must not be published"):
        publish("t", draft(tmp_path, f"# T\n\n{body}\n"), site, reviewed=False)
    assert not site.exists()


HARMLESS = (
    '```python title="a.py" hl_lines="1 3" linenums="1"\n<b>\n```',
    "```html\n<script>alert(1)</script>\n```",
    "Use `<think>` tags, `a < b`, and 1 < 2 <= 3.",
    "[x](https://a.example/?a=1&b=2) <https://a.example/>",
    "[x](other-post.md#anchor) [y](#top) [m](mailto:a@b.example)",
    "A claim[^1].\n\n[^1]: Source, `P:3`.",
    '!!! note "Title"\n\n    Text.',
    "$a < b$ and {braces}",
    "![caption](figures/a.webp)",
)


@pytest.mark.parametrize("body", HARMLESS)
def test_ordinary_markdown_goes_out(tmp_path: Path, site: Path, body: str) -> None:
    (path,) = publish("t", draft(tmp_path, f"# T\n\n{body}\n"), site, reviewed=False)
    assert path.read_text(encoding="utf-8").endswith(f"{body.replace('figures/', 't/')}\n")


def test_a_hostile_title_is_refused(tmp_path: Path, site: Path) -> None:
    with pytest.raises(BadRequest, match="title holds HTML"):
        publish("t", draft(tmp_path, "# T\n", FRONT.replace("title: T", "title: <b>T</b>")), site, reviewed=False)


def test_a_figure_that_is_a_link_out_of_the_folder_is_refused(tmp_path: Path, site: Path) -> None:
    folder = draft(tmp_path, "![x](figures/b.webp)\n")
    (tmp_path / "secret").write_text("s")
    (folder / "figures" / "b.webp").symlink_to(tmp_path / "secret")
    with pytest.raises(BadRequest, match=r"b\.webp is missing"):
        publish("t", folder, site, reviewed=False)


def test_figures_that_are_no_longer_shown_are_removed(tmp_path: Path, site: Path) -> None:
    publish("t", draft(tmp_path, "![x](figures/a.webp)\n"), site, reviewed=False)
    publish("t", draft(tmp_path, "no figure\n"), site, reviewed=False)
    assert not list((site / "docs/en/posts/t").iterdir())
    assert not list(site.rglob(".*"))


@pytest.mark.parametrize("slug", ["", "../t", "a/b", "T"])
def test_p39_a_slug_names_no_path(tmp_path: Path, site: Path, slug: str) -> None:
    with pytest.raises(BadRequest):
        publish(slug, draft(tmp_path, "# T\n"), site, reviewed=True)


def test_no_draft_and_no_front_matter_are_named(tmp_path: Path, site: Path) -> None:
    with pytest.raises(NotFound, match="kb write"):
        publish("t", tmp_path / "nowhere", site, reviewed=True)
    with pytest.raises(UnreadableSource, match="front matter"):
        publish("t", draft(tmp_path, "# T\n", ""), site, reviewed=True)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"---\ntitle: T\ndate: 2026-99-99\n---\n", "no YAML"),
        (b"---\ntitle: " + b"[" * 3000 + b"\n---\n", "no YAML"),
        ("---\ntitle: 题\n---\n".encode("gb18030"), "no UTF-8"),
    ],
)
def test_a_draft_that_cannot_be_read_is_named(tmp_path: Path, site: Path, content: bytes, reason: str) -> None:
    folder = draft(tmp_path, "")
    (folder / "index.en.md").write_bytes(content)
    with pytest.raises(UnreadableSource, match=reason):
        publish("t", folder, site, reviewed=True)


def test_a_byte_order_mark_is_no_hindrance(tmp_path: Path, site: Path) -> None:
    folder = draft(tmp_path, "# T\n", "\ufeff" + FRONT)
    assert publish("t", folder, site, reviewed=False)
