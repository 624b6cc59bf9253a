from __future__ import annotations

import pytest

from generate.passages import Passage
from generate.reply import Drafted, Supporting
from generate.verify import Checked, check
from tests.generate.material import hit

ZH = "INT4 量化将每个 Token 的状态体积压缩至 30 KB，节省约 50%。LRU 是默认策略。"
EN = "The default of `max_num_batched_tokens` is 8192 tokens since v0.8.0. Smaller values lower the latency."


def evidence() -> dict[str, Passage]:
    chunks = {"ea1b2c3d": hit(ZH, title="GLM-5 容量规划"), "ef9e8d7c": hit(EN, title="Tuning", version="0.33.0")}
    return {key: Passage(found, 0, len(found.chunk.text), "prose") for key, found in chunks.items()}


def verdict(text: str, *support: tuple[str, str]) -> Checked:
    return check(Drafted(text=text, support=tuple(Supporting(id=i, quote=q) for i, q in support)), evidence())


def rules(checked: Checked) -> set[str]:
    return {finding.rule for finding in checked.findings}


SIZE = ("ea1b2c3d", "状态体积压缩至 30 KB")
DEFAULT = ("ef9e8d7c", "The default of `max_num_batched_tokens` is 8192 tokens")


def test_a_borne_out_claim_holds_and_its_quote_grows_to_the_sentence() -> None:
    checked = verdict("GLM-5 的 INT4 状态体积是 30 KB。", SIZE)
    assert checked.holds
    assert checked.statement is not None
    assert checked.statement.passages[0].quote == "INT4 量化将每个 Token 的状态体积压缩至 30 KB，节省约 50%。"


def test_a_quote_may_differ_in_width_and_white_space_only() -> None:
    assert verdict("是 30 KB。", ("ea1b2c3d", "状态体积压缩至30 KB")).holds  # blanks beside hanzi do not count
    assert verdict("是 30 KB。", ("ea1b2c3d", "状态体积压缩至 ３０ ＫＢ")).holds
    assert verdict("It is 8192 tokens.", ("ef9e8d7c", "is  8192\ntokens")).holds
    assert not verdict("It is 8192 tokens.", ("ef9e8d7c", "Is 8192 tokens")).holds


@pytest.mark.parametrize(
    ("text", "support", "rule"),
    [
        ("是 30 KB。", ("e0000000", "状态体积压缩至 30 KB"), "unknown-evidence"),
        ("是 30 KB。", ("ea1b2c3d", "状态体积约为 30 KB"), "quote-not-verbatim"),
        ("是 30 MB。", SIZE, "unsupported-number"),
        ("是 30 KB，省 60%。", SIZE, "unsupported-number"),
        ("The default is 8192 tokens since v0.9.0.", DEFAULT, "unsupported-version"),
        ("`max_num_seqs` is 8192 tokens.", DEFAULT, "unsupported-identifier"),
        ("Pass --max-model-len 8192 tokens.", DEFAULT, "unsupported-identifier"),
        ("See https://evil.example/x for 8192 tokens.", DEFAULT, "foreign-link"),
        ("8192 tokens ![x](http://evil.example/p.png)", DEFAULT, "markup"),
        ("The [default](https://a.b) is 8192 tokens.", DEFAULT, "markup"),
        ("The default is <b onclick=x>8192 tokens</b>.", DEFAULT, "markup"),
        ("Bananas grow quickly.", DEFAULT, "unrelated-quote"),
    ],
)
def test_what_is_not_borne_out_is_found(text: str, support: tuple[str, str], rule: str) -> None:
    checked = verdict(text, support)
    assert rule in rules(checked)
    assert not checked.holds


def test_part2_13_a_claim_without_evidence_does_not_hold() -> None:
    assert rules(verdict("The default is 8192 tokens.")) == {"uncited"}


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("The default is 8192 tokens [ef9e8d7c].", "The default is 8192 tokens."),
        ("The default is 8192 tokens【ef9e8d7c】.", "The default is 8192 tokens."),
        ("The default is 8192 tokens [1].", "The default is 8192 tokens."),
        ("The default is 8192 tokens (E1 and E2).", "The default is 8192 tokens."),
        ("The default is 8192 tokens (Smith 2019).", "The default is 8192 tokens."),
        ("The default is 8192 tokens［证据 3］.", "The default is 8192 tokens."),
    ],
)
def test_p35_references_that_the_model_wrote_itself_go_and_the_claim_stays(written: str, shown: str) -> None:
    checked = verdict(written, DEFAULT)
    assert checked.statement is not None
    assert checked.statement.text == shown
    assert checked.holds


def test_p35_an_unknown_id_is_a_finding_and_its_neighbour_is_kept() -> None:
    checked = verdict("The default is 8192 tokens.", ("e7777777", "x"), DEFAULT)
    assert rules(checked) == {"unknown-evidence"}
    assert checked.statement is not None
    assert len(checked.statement.passages) == 1


def test_p35_two_ids_in_one_field_are_both_looked_at() -> None:
    checked = verdict("The default is 8192 tokens.", ("[ef9e8d7c] and [ea1b2c3d]", "is 8192 tokens"))
    assert checked.statement is not None
    assert [p.hit.source.title for p in checked.statement.passages] == ["Tuning"]


def test_ordinary_brackets_stay() -> None:
    checked = verdict("The default (of `max_num_batched_tokens`) is 8192 tokens.", DEFAULT)
    assert checked.statement is not None
    assert checked.statement.text.startswith("The default (of")
