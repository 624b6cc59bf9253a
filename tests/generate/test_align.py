from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from generate.align import align

WORDS = st.text(alphabet="块表缓存哈希量化 abc", max_size=12)


@settings(deadline=None)  # the first example loads the dictionary
@given(st.lists(WORDS, max_size=12), st.lists(WORDS, max_size=6))
def test_a_talk_moves_forward_through_its_slides(speech: list[str], slides: list[str]) -> None:
    path = align(speech, slides).slides
    assert len(path) == len(speech)
    if slides:
        known = [slide for slide in path if slide is not None]
        assert known == sorted(known)
        assert all(0 <= slide < len(slides) for slide in known)
    else:
        assert path == (None,) * len(speech)


def test_sentences_go_to_the_slide_that_they_share_words_with() -> None:
    slides = ["Paged attention: block table", "Prefix caching: hash", "Quantization: FP8"]
    speech = ["The block table maps blocks.", "Each block is small.", "Now caching by hash.", "Finally FP8 numbers."]
    found = align(speech, slides)
    assert found.slides == (0, 0, 1, 2)
    assert found.confidence == 1.0


def test_speech_in_the_other_language_is_laid_by_the_glossary() -> None:
    slides = ["分页注意力", "前缀缓存", "投机解码"]
    speech = ["We start with paged attention.", "Then prefix caching helps.", "Speculative decoding comes last."]
    assert align(speech, slides).slides == (0, 1, 2)


def test_a_slide_may_be_skipped_and_chatter_stays_where_it_was() -> None:
    slides = ["tensor parallelism", "a joke", "pipeline parallelism"]
    speech = ["tensor parallelism splits matrices", "well, you know", "pipeline parallelism splits layers"]
    assert align(speech, slides).slides in {(0, 0, 2), (0, 1, 2), (0, 2, 2)}
