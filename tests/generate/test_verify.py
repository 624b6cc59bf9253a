from __future__ import annotations

import pytest

from generate.passages import Passage
from generate.reply import Drafted, Supporting
from generate.verify import Checked, check, dangling, parted
from kb.types import Lang, Severity
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
    assert "quote-mended" in rules(verdict("It is 8192 tokens.", ("ef9e8d7c", "Is 8192 tokens")))


@pytest.mark.parametrize(
    ("text", "support", "rule"),
    [
        ("是 30 KB。", ("e0000000", "状态体积压缩至 30 KB"), "unknown-evidence"),
        ("磁盘上的副本约为 30 KB。", ("ea1b2c3d", "磁盘副本约为 30 KB"), "quote-not-verbatim"),
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


# --- the classes that must be cited -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sentence",
    [
        "The default is 8192 tokens.",  # a number
        "Latency falls because the batch is smaller.",  # a cause
        "LRU is faster than ARC.",  # a comparison
        "Chunked prefill is a way to split prompts.",  # a definition
        "At most one block can be evicted.",  # a limit
        "You should set `max_num_batched_tokens`.",  # a recommendation
        "建议开启前缀缓存。",
        "因为块池已满，所以要淘汰。",
        "Here is how it works.",  # and every other sentence, too
    ],
)
def test_every_sentence_needs_a_citation(sentence: str) -> None:
    assert rules(verdict(sentence)) == {"uncited"}


def test_a_claim_of_several_sentences_is_held_sentence_by_sentence() -> None:
    quote = Supporting(id=DEFAULT[0], quote=DEFAULT[1])
    claim = Drafted(text="The default is 8192 tokens. Bananas grow on 12 trees.", support=(quote,))
    good, bad = (check(part, evidence(), "en") for part in parted(claim))
    assert good.holds
    assert rules(bad) == {"unsupported-number", "unrelated-quote"}


def test_the_number_of_an_item_is_no_sentence() -> None:
    claim = Drafted(text="缺点有两个：1. 无法解决重复问题；2. 开放域生成效果差。")
    assert [part.text for part in parted(claim)][-1] == "开放域生成效果差。"
    assert all(any(map(str.isalpha, part.text)) for part in parted(claim))
    assert [part.text for part in parted(Drafted(text="64."))] == ["64."]  # alone it is all that is said


APC = "Set `enable_prefix_caching=True` in vLLM engine to enable APC."


@pytest.mark.parametrize(
    ("claim", "says_more"),
    [
        (
            "在多租户共享环境里，设置 `enable_prefix_caching=True` 启用 APC，然后为每个租户创建一个独立的 vLLM 实例，"
            "这样每个租户的实例都可以独立地使用自己的前缀缓存，互相之间不会读到对方的内容，也不需要修改任何别的配置项。",
            True,
        ),
        ("在 vLLM 引擎里设置 `enable_prefix_caching=True`，就可以启用自动前缀缓存（APC）。", False),
        ("To use APC, which is how vLLM calls its automatic prefix caching, set `enable_prefix_caching=True`.", False),
    ],
)
def test_a_sentence_that_says_far_more_than_its_quote_does_not_hold(claim: str, says_more: bool) -> None:
    assert ("says-more" in held(claim, APC)) == says_more


# --- numbers, identifiers, versions -----------------------------------------------------------------------------


def held(claim: str, quote: str, **about: str | None) -> set[str]:
    """The rules that `claim` breaks against a note that holds `quote` alone."""
    passage = Passage(hit(quote, **about), 0, len(quote), "prose")  # type: ignore[arg-type]
    found = check(Drafted(text=claim, support=(Supporting(id="e1", quote=quote),)), {"e1": passage})
    return {finding.rule for finding in found.findings if finding.severity is not Severity.P3}


@pytest.mark.parametrize(
    ("claim", "quote", "rule"),
    [
        ("The flag is `--max-model`.", "The flag is `--max-model-len`.", "unsupported-identifier"),
        ("The field is model_len.", "The field is max_model_len.", "unsupported-identifier"),
        ("It came with version v0.9.0.", "It came with version v10.9.0.", "unsupported-version"),
        ("There are three policies.", "There are two policies.", "unsupported-number"),
        ("策略有三种。", "策略有两种。", "unsupported-number"),
        ("吞吐提高三倍。", "吞吐提高 2 倍。", "unsupported-number"),
        ("Throughput doubles to twice the rate.", "Throughput is 3x the rate.", "unsupported-number"),
    ],
)
def test_near_misses_are_found(claim: str, quote: str, rule: str) -> None:
    assert rule in held(claim, quote)


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("Several GPUs share a block, e.g. with NVLink.", "Each GPU shares a block through NVLink."),
        ("There are two policies.", "There are 2 policies."),
        ("吞吐提高两倍。", "吞吐提高 2 倍。"),
        ("One of the policies is `lru`.", "The policies are `lru` and `arc`."),
        ("The KV cache is paged.", "The key-value cache is paged."),
    ],
)
def test_what_is_said_otherwise_is_borne_out(claim: str, quote: str) -> None:
    assert held(claim, quote) == set()


# --- turned round -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "quote", "rule"),
    [
        ("Eviction changes the output.", "Eviction does not change the output.", "lost-negation"),
        ("淘汰会改变输出。", "淘汰不会改变输出。", "lost-negation"),
        ("It needs additional memory.", "It needs no additional memory.", "lost-negation"),
        ("Eviction does not change the output.", "Eviction changes the output.", "added-negation"),
        ("前缀缓存不支持多模态。", "前缀缓存支持多模态。", "added-negation"),
        ("Prefix caching is not supported.", "前缀缓存支持多模态模型。", "added-negation"),
        ("Smaller batches increase the latency.", "Smaller batches reduce the latency.", "turned-direction"),
        ("量化会提高精度。", "量化会降低精度。", "turned-direction"),
        ("It reduces throughput.", "吞吐提高。Throughput is what it is about.", "turned-direction"),
        ("The limit is at least 16 blocks.", "The limit is at most 16 blocks.", "turned-direction"),
        ("The flag disables chunked prefill.", "The flag enables chunked prefill.", "turned-direction"),
        (
            "要开启混合管理，应加 `--disable-hybrid-manager` 参数。",
            "`--disable-hybrid-manager`：关闭混合管理。",
            "turned-direction",
        ),
        ("ARC is faster than LRU.", "LRU is faster than ARC.", "exchanged-sides"),
        ("ARC 比 LRU 快。", "LRU 比 ARC 更快。", "exchanged-sides"),
    ],
)
def test_a_claim_that_turns_its_quote_round_is_found(claim: str, quote: str, rule: str) -> None:
    assert rule in held(claim, quote)


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("Eviction leaves the output as it is.", "Eviction does not change the output."),
        ("LRU is the default policy.", "LRU is the default policy. It does not support priorities."),
        ("Only decoder models work with the policy.", "The policy does not work with encoder models."),
        ("The policy is not used for encoders.", "The policy is used only for decoders."),
        ("前缀缓存默认没有启用。", "前缀缓存默认关闭。"),
        ("它不仅快，而且省显存的缓存。", "缓存快，而且省显存。"),
        ("ARC is slower than LRU.", "LRU is faster than ARC."),
        ("LRU 比 ARC 快。", "LRU 比 ARC 更快。"),
        ("A larger batch raises throughput and latency.", "A larger batch increases both throughput and latency."),
        ("Different blocks share a hash.", "不同的块共享 hash 和 blocks。"),
    ],
)
def test_a_claim_that_says_the_same_otherwise_holds(claim: str, quote: str) -> None:
    assert held(claim, quote) == set()


# --- language, subject, what is not seen ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "lang", "holds"),
    [
        ("默认值是 8192 tokens。", "zh", True),
        ("`max_num_batched_tokens` 默认 8192 tokens。", "zh", True),
        ("The default is 8192 tokens.", "zh", False),
        ("默认值是 8192 tokens。", "en", False),
        ("The default (“默认值”) is 8192 tokens.", "en", True),
        ("8192 tokens", "zh", False),
        ("8192", "zh", True),
    ],
)
def test_a_claim_is_in_the_questions_language(text: str, lang: Lang, holds: bool) -> None:
    claim = Drafted(text=text, support=(Supporting(id=DEFAULT[0], quote=DEFAULT[1]),))
    assert ("wrong-language" not in rules(check(claim, evidence(), lang))) == holds


def test_a_quote_of_another_subject_in_the_other_language_carries_nothing() -> None:
    assert "unrelated-quote" in held("张量并行需要 NCCL。", "The prefix cache is keyed by block hashes.")
    assert held("前缀缓存以块哈希为键。", "The prefix cache is keyed by block hashes.") == set()


def test_of_several_quotes_the_unrelated_one_is_no_citation() -> None:
    checked = verdict("INT4 的状态体积是 30 KB。", SIZE, DEFAULT)
    assert checked.holds
    assert checked.statement is not None
    assert len(checked.statement.passages) == 1


def test_characters_that_are_not_seen_do_not_reach_the_reader() -> None:
    checked = verdict("The de\u202efault\u200b is\x1b[31m 8192\u2028tokens.", DEFAULT)
    assert checked.text == "The default is[31m 8192 tokens."


def test_a_sentence_that_points_back_to_one_that_was_left_out_does_not_hold() -> None:
    for text in ("It is 8192 tokens.", "该默认值是 8192 tokens。"):
        assert "points-back" in rules(dangling(verdict(text, DEFAULT)))
    assert dangling(verdict("The default is 8192 tokens.", DEFAULT)).holds


def test_a_flag_must_stand_in_the_quote_itself() -> None:
    text = "Pass `--enable-manager` to switch it on. The field manager_enabled is the opposite of disable_manager."
    quote = Supporting(id="e1", quote="The field manager_enabled is the opposite of disable_manager.")
    claim = Drafted(text="The field manager_enabled is the opposite of `--enable-manager`.", support=(quote,))
    checked = check(claim, {"e1": Passage(hit(text), 0, len(text), "prose")})
    assert "unsupported-identifier" in rules(checked)
