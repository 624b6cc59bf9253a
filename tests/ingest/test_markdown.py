from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.markup.markdown import read
from ingest.parsed import Parsed
from kb.types import Mark, Role
from tests.ingest.documents import FORMULAS, HEADINGS, LISTS, NESTED, PROSE, fences, lines_told, tables


def places(parsed: Parsed) -> list[tuple[str, tuple[int, int]]]:
    marks = [(block.role.value, block.locator) for block in parsed.blocks]
    return [(role, (mark.line_start, mark.line_end)) for role, mark in marks if isinstance(mark, Mark)]


def headings(text: str) -> list[tuple[tuple[str, ...], str]]:
    marks = [block.locator for block in read(text, "note.md").blocks if block.role is Role.TITLE]
    return [(mark.heading_path, mark.anchor) for mark in marks if isinstance(mark, Mark)]


OPENINGS = st.sampled_from(["", "---\ntitle: T\ndescription: D\n---\n", "---\n\n", "\n\n", "---\ntitle: x\n\n"])
ODDITIES = st.sampled_from(
    [
        "[ref]: https://example.org",
        "[^1]: a note\n    that goes on",
        "<details>\n<b>x</b>\n</details>",
        "***",
        "!!! note\n    text\n\n    # x",
        ":::tip\n# no\n:::",
        "import X from 'y'\n\n<Tabs>",
        "Title\n=====",
        "    indented\n\n    code",
        "```\nnever closed",
        "> quote\n> # x",
        "<!-- a comment -->",
        '=== "CUDA"\n\n    text\n\n    ```py\n    # x\n    ```\n=== "ROCm"\n    # y\n',
        "/// details | T\ntext\n///",
        "::::tabs\n:::note\nx\n:::\n::::",
        "??? note\n    a\n\n    | a |\n    |---|\n\n    b\n\n    c\n\n    d\n\n    e\n\n\n    f",
        "export const x = 1\n\n<script>\nx\n</script>",
        "\\[\nx\n\\]",
        "- a\n\n" + "  b\n\n" * 9 + "  $$\n  x\n  $$",
        'text\n=== "not a tab"\n!!! no',
        "> [!NOTE]\n> x\n" + "> y\n>\n" * 9,
    ]
)


@settings(deadline=None)
@given(
    opening=OPENINGS,
    blocks=st.lists(st.one_of(PROSE, fences(), tables(), LISTS, NESTED, HEADINGS, FORMULAS, ODDITIES), max_size=12),
)
def test_every_line_stands_in_exactly_one_block(opening: str, blocks: list[str]) -> None:
    text = opening + "\n\n".join(blocks)
    lines = text.split("\n")
    parsed = read(text, "note.md")
    seen: list[int] = []
    for block in parsed.blocks:
        assert isinstance(block.locator, Mark)
        numbers = range(block.locator.line_start, block.locator.line_end + 1)
        assert block.text == "\n".join(lines[number - 1] for number in numbers)
        seen += numbers
    assert seen == sorted(set(seen))
    told = lines_told(parsed)
    front = 4 if "description" in opening else 0
    for number, line in enumerate(lines, 1):
        is_rule = set(line.strip()) <= set("*-_ ")
        assert number in told or number <= front or is_rule, line


def test_blocks_have_roles_and_lines() -> None:
    text = "# T\n\nText.\n\n| a |\n|---|\n| 1 |\n\n$$\nx\n$$\n\n```py\n# no\n```\n\nSub\n---\n\n"
    text += "!!! note\n    a\n\n    # b\n\nend"
    assert places(read(text, "note.md")) == [
        ("title", (1, 1)), ("body", (3, 3)), ("table", (5, 7)), ("math", (9, 11)), ("code", (13, 15)),
        ("title", (17, 18)), ("body", (20, 23)), ("body", (25, 25)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "fence",
    [
        "```\n# no\n```",
        "~~~\n# no\n```\n# no\n~~~",
        "````md\n```\n# no\n```\n# no\n````",
        "   ```\n   # no\n   ```",
        "- item\n\n  ```\n  # no\n  ```",
        "    # indented code",
        '```python title="a.py"\n# no',
    ],
)
def test_p22_a_hash_inside_a_fence_is_no_heading(fence: str) -> None:
    assert headings(f"# Yes\n\n{fence}") == [(("Yes",), "yes")]


def test_heading_paths_are_plain_and_anchors_are_those_of_the_page() -> None:
    text = "# Use `x` **now**\n\n## [Link](u) a\n\n## 前缀缓存\n\n### A & B\n\n# Use x now\n\n"
    text += "## Mine\n\n## Own {#mine}\n\n> ## Own\n\n## Own\n"
    assert headings(text) == [
        (("Use x now",), "use-x-now"),
        (("Use x now", "Link a"), "link-a"),
        (("Use x now", "前缀缓存"), "前缀缓存"),
        (("Use x now", "前缀缓存", "A & B"), "a--b"),
        (("Use x now",), "use-x-now_1"),
        (("Use x now", "Mine"), "mine_1"),  # the page gives an explicit id away first
        (("Use x now", "Own"), "mine"),
        (("Use x now", "Own"), "own_1"),  # the heading inside the quote has the id `own`
    ]


def test_anchors_equal_those_of_python_markdown() -> None:
    markdown = pytest.importorskip("markdown")
    slugs = pytest.importorskip("pymdownx.slugs")
    text = "\n\n".join(
        f"# {t}"
        for t in ["Setup", "Setup", "设置 A", "Setup_1", "`--kv-cache`", "C++ & you", "Setup", "**!**", "?", "1. 原理"]
    )
    renderer = markdown.Markdown(
        extensions=["toc"], extension_configs={"toc": {"slugify": slugs.slugify(case="lower")}}
    )
    renderer.convert(text)
    assert [anchor for _, anchor in headings(text)] == [token["id"] for token in renderer.toc_tokens]


def test_long_lists_come_item_by_item_and_short_ones_whole() -> None:
    short = "\n".join(f"- item {n}" for n in range(5))
    long = "\n".join(f"1. item\n   more {n}\n" for n in range(8))
    assert places(read(short, "n.md")) == [("body", (1, 5))]
    assert places(read(long, "n.md")) == [("body", (n * 3 + 1, n * 3 + 2)) for n in range(8)]


# --- MkDocs, GitHub, Docusaurus, MDX ----------------------------------------------------------------------------


def test_tabs_stand_below_their_label_and_their_headings_below_them() -> None:
    text = '# T\n\n=== "CUDA"\n\n    ## Install\n\n    Run it.\n\n    ```sh\n    # no heading\n    ```\n\n'
    text += '=== "ROCm"\n    Other.\n\nAfter.\n'
    found = [
        (block.role.value, "/".join(block.locator.heading_path), block.locator.anchor, block.locator.line_start)
        for block in read(text, "n.md").blocks
        if isinstance(block.locator, Mark)
    ]
    assert found == [
        ("title", "T", "t", 1),
        ("body", "T/CUDA", "t", 3),
        ("title", "T/CUDA/Install", "install", 5),
        ("body", "T/CUDA/Install", "install", 7),
        ("code", "T/CUDA/Install", "install", 9),
        ("body", "T/ROCm", "t", 13),
        ("body", "T", "t", 16),
    ]


def test_a_short_admonition_is_cited_whole_and_a_long_one_part_by_part() -> None:
    short = "!!! note\n    a\n\n    ```py\n    x\n    ```\n\n\n    b"
    assert places(read(short, "n.md")) == [("body", (1, 9))]
    long = "??? note\n    a\n\n    | a |\n    |---|\n    | 1 |\n\n"
    long += "    ```py\n    x\n    ```\n\n    b\n\n    $$\n    y\n    $$\nEnd"
    assert places(read(long, "n.md")) == [
        ("body", (1, 2)), ("table", (4, 6)), ("code", (8, 10)),
        ("body", (12, 12)), ("math", (14, 16)), ("body", (17, 17)),
    ]  # fmt: skip


@pytest.mark.parametrize("block", [":::tip Title\nBody.\n:::", "/// note | T\nBody.\n///", "> [!NOTE]\n> Body."])
def test_other_admonitions_are_blocks(block: str) -> None:
    assert [found.text for found in read(f"a\n\n{block}\n\nb", "n.md").blocks] == ["a", block, "b"]


def test_a_step_that_is_long_comes_apart_at_its_code() -> None:
    text = "1. Do this:\n\n   ```sh\n" + "   run\n" * 12 + "   ```\n\n   Then wait.\n\n2. Do that.\n"
    assert places(read(text, "n.md")) == [("body", (1, 1)), ("code", (3, 16)), ("body", (18, 18)), ("body", (20, 20))]


def test_what_the_page_does_not_show_is_told_once_for_each_kind() -> None:
    text = "import A from 'a'\nimport 'b.css'\n\n<!-- one -->\n\n{/* two */}\n\n<Tabs>\n\nText.\n\n</Tabs>\n\n"
    text += "<style>x</style>\n\n<!-- --8<-- [start:x] -->\n\n--8<-- [end:x]\n"
    parsed = read(text, "n.mdx", mdx=True)
    assert [block.text for block in parsed.blocks] == ["Text."]
    assert {(dropped.what, dropped.where) for dropped in parsed.dropped} == {
        ("import or export", "n.mdx, lines 1-2"),
        ("3 × HTML comment", "n.mdx, lines 4, 6, 16"),
        ("2 × block of tags", "n.mdx, lines 8, 12"),
        ("script or style sheet", "n.mdx, line 14"),
        ("snippet mark", "n.mdx, line 18"),
    }


@pytest.mark.parametrize(
    "block",
    [
        '<img src="a.png" alt="Blocks">',
        "![Blocks](a.png)",
        '<TabItem value="a" label="CUDA">',
        "<b>bold</b>",
        "[a](b)",
        "[r]: u",
    ],
)
def test_links_pictures_and_labels_are_kept_as_written(block: str) -> None:
    assert [found.text for found in read(block, "n.md").blocks] == [block]


def test_code_that_imports_is_text_in_a_note_that_is_no_mdx() -> None:
    assert read("export CUDA_VISIBLE_DEVICES=0\n\nimport vllm", "n.md").dropped == ()
    assert read("export const a = 1", "n.mdx", mdx=True).blocks == ()


def test_mdx_has_no_indented_code() -> None:
    assert [block.role for block in read("    text", "n.mdx", mdx=True).blocks] == [Role.BODY]


@pytest.mark.parametrize(
    "formula", ["$$\nx\n$$", "\\[\nx\n\\]", "\\begin{align}\nx\n\\end{align}", "    $$\n    x\n    $$"]
)
def test_part2_36_formulas_are_kept_byte_by_byte(formula: str) -> None:
    text = f"- item\n\n{formula}\n" if formula.startswith(" ") else f"a\n\n{formula}\n"
    assert formula in "\n".join(block.text for block in read(text, "n.md").blocks)


def test_a_footnote_and_the_place_of_its_mark_are_both_there() -> None:
    parsed = read("Text[^1].\n\n[^1]: The note,\n    which goes on.\n", "n.md")
    assert [block.text for block in parsed.blocks] == ["Text[^1].", "[^1]: The note,\n    which goes on."]


# --- front matter -----------------------------------------------------------------------------------------------

FRONT_MATTER = [
    pytest.param("---\ntitle: T\n---\n# H", "T", [("title", (4, 4))], id="plain"),
    pytest.param("---\n# H\n\ntext", "H", [("title", (2, 2)), ("body", (4, 4))], id="leading rule"),
    pytest.param("---\n\nkey: value\n\n---\n# H", "H", [("body", (3, 3)), ("title", (6, 6))], id="rule, then a blank"),
    pytest.param(
        "text\n\n---\n\ntitle: T\n\n---\n", None, [("body", (1, 1)), ("body", (5, 5))], id="rules in the body"
    ),
    pytest.param("---\ntitle: T\n\n# H", "H", [("body", (2, 2)), ("title", (4, 4))], id="unclosed"),
    pytest.param("---\ntitle: vLLM: a tour\nlang: en\n---\nx", "vLLM: a tour", [("body", (5, 5))], id="colon"),
    pytest.param("---\ntitle: 'a: b'\n...\nx", "a: b", [("body", (4, 4))], id="dots close"),
    pytest.param("---\ntitle: [\n---\nx", "[", [("body", (4, 4))], id="bad YAML"),
    pytest.param("---\nsome prose here\n---\nx", None, [("title", (2, 3)), ("body", (4, 4))], id="prose between rules"),
    pytest.param("---\na: " + "[" * 3000 + "\n---\nx", None, [("body", (4, 4))], id="endless nesting"),
    pytest.param("---\n---\nx", None, [("body", (3, 3))], id="nothing between"),
]


@pytest.mark.parametrize(("text", "title", "blocks"), FRONT_MATTER)
def test_p26_front_matter_is_told_from_rules(text: str, title: str | None, blocks: object) -> None:
    parsed = read(text, "note.md")
    assert (parsed.title, places(parsed)) == (title, blocks)


def test_p26_values_are_read_as_written() -> None:
    text = (
        "---\ntitle: T\ndate: 2026-03-01\nversion: 0.20\nlang: zh-CN\nurl: https://example.org/a\nlicense: MIT\n---\nx"
    )
    parsed = read(text, "note.md")
    assert (parsed.date, parsed.version, parsed.lang) == (date(2026, 3, 1), "0.20", "zh")
    assert (parsed.url, parsed.licence, parsed.dropped) == ("https://example.org/a", "MIT", ())


@pytest.mark.parametrize(
    ("text", "reason", "where"),
    [
        ("---\ntitle: [\n---\nx", "not valid", "note.md, line 2"),
        ("---\ntitle: T\n\nx", "not closed", "note.md, line 1"),
        ("---\ndate: last week\n---\nx", "2026-03-01", "note.md, front matter"),
        ("<!--\nSPDX-License-Identifier: MIT\n-->\n\nx", "licence banner", "note.md, lines 1-3"),
    ],
)
def test_what_is_left_out_is_reported(text: str, reason: str, where: str) -> None:
    (dropped,) = read(text, "note.md").dropped
    assert reason in dropped.reason
    assert dropped.where.startswith(where)


def test_a_description_can_be_found() -> None:
    parsed = read("---\ntitle: T\ndescription: >\n  How blocks\n  are shared.\ntags: [a]\n---\nx", "note.md")
    assert parsed.blocks[0].text == "description: >\n  How blocks\n  are shared."
    assert places(parsed)[0] == ("body", (3, 5))


TOML = '+++\ntitle = "T: a"\ndate = 2026-03-01T10:00:00Z\nversion = 0.20\n'
TOML += 'tags = [\n  "kv",\n]\n[params]\nx = 1\n+++\nText.'
JSON = '{\n  "title": "T: a",\n  "date": "2026-03-01",\n  "version": 0.20,\n'
JSON += '  "tags": ["kv"],\n  "x": {\n    "y": 1\n  }\n}\nText.'
YAML = "---\ntitle: 'T: a'\ndate: 2026-03-01\nversion: 0.20\ntags:\n  - kv\nx:\n  y: 1\n---\nText."


@pytest.mark.parametrize(
    ("text", "tags", "rest", "body"),
    [(TOML, (5, 7), "lines 8-9", 11), (JSON, (5, 5), "lines 6-8", 10), (YAML, (5, 6), "lines 7-8", 10)],
    ids=["TOML", "JSON", "YAML"],
)
def test_p26_front_matter_of_every_generator(text: str, tags: tuple[int, int], rest: str, body: int) -> None:
    parsed = read(text, "n.md")
    assert (parsed.title, parsed.date, parsed.version) == ("T: a", date(2026, 3, 1), "0.20")
    assert places(parsed) == [("body", tags), ("body", (body, body))]
    assert [dropped.where for dropped in parsed.dropped if "settings" in dropped.reason] == [f"n.md, {rest}"]


@pytest.mark.parametrize("text", ["+++\n\ntext\n+++\n", "+++\nprose only\n+++\n", "{\nprose\n}\n", "{\n", "+++"])
def test_p26_what_only_looks_like_front_matter_is_text(text: str) -> None:
    assert "\n".join(block.text for block in read(text, "n.md").blocks).split() == text.split()


@pytest.mark.parametrize("url", ["javascript:alert(1)", "file:///etc/passwd", "//x.y", "https://[", "notes"])
def test_part2_36_an_address_that_is_none_on_the_web_is_told_and_leads_nowhere(url: str) -> None:
    parsed = read(f"---\ntitle: T\nurl: '{url}'\n---\nx", "note.md")
    assert parsed.url is None
    assert "https://" in parsed.dropped[0].reason
