"""Near-duplicates: found across small edits, never claimed falsely, whatever the script and the order."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.near_duplicates import MISSED_SHARE, PERMUTATIONS, bands, near_duplicates

VOCABULARY = [f"word{number}" for number in range(2_000)]
CHINESE = "城市的桥梁今天早上关闭市长说工程师检查了每一根梁柱居民们沿着河岸步行上班电车停运到星期五"
THAI = "สะพานปิดเช้านี้นายกเทศมนตรีกล่าวว่าวิศวกรตรวจสอบคานทุกอันผู้อยู่อาศัยเดินเลียบแม่น้ำไปทำงาน"


def words(seed: int, count: int = 300) -> list[str]:
    return random.Random(seed).choices(VOCABULARY, k=count)


def shingle_set(text: str) -> set[tuple[str, ...]]:
    tokens = text.casefold().split()
    width = min(5, len(tokens))
    return {tuple(tokens[at : at + width]) for at in range(len(tokens) - width + 1)} if tokens else set()


def similarity(left: str, right: str) -> float:
    a, b = shingle_set(left), shingle_set(right)
    return len(a & b) / len(a | b)


def clusters(copies: dict[str, str], pages: list[str]) -> set[frozenset[str]]:
    roots = {page: copies.get(page, page) for page in pages}
    return {frozenset(page for page in pages if roots[page] == root) for root in roots.values()}


def test_an_edited_copy_is_found_and_the_first_page_is_the_original() -> None:
    text = words(1)
    edited = [*text[:150], "changed", *text[151:], "Additional", "reporting", "by", "staff"]
    texts = {"second": " ".join(text), "first": " ".join(edited), "other": " ".join(words(2))}
    assert near_duplicates(texts, threshold=0.8) == {"first": "second"}


def test_case_spaces_and_punctuation_make_no_difference() -> None:
    text = words(3)
    texts = {"a": " ".join(text), "b": "\n\n".join(word.upper() + "," for word in text)}
    assert near_duplicates(texts, threshold=1) == {"b": "a"}


def test_the_same_words_in_another_order_are_another_text() -> None:
    text = words(4)
    assert near_duplicates({"a": " ".join(text), "b": " ".join(sorted(text))}, threshold=0.5) == {}


@pytest.mark.parametrize("text", [CHINESE, THAI], ids=["Chinese", "Thai"])
def test_scripts_without_spaces_are_compared_by_character(text: str) -> None:
    texts = {"a": text, "b": text[:-1] + "x", "c": text[::-1]}
    assert near_duplicates(texts, threshold=0.8) == {"b": "a"}


def test_texts_without_words_and_of_few_words() -> None:
    texts = {"empty": "", "dots": "…", "one": "Breaking", "same": "breaking!", "two": "Breaking news"}
    assert near_duplicates(texts, threshold=0.8) == {"same": "one"}


def test_a_chain_of_small_changes_is_one_cluster() -> None:
    text = words(5)
    chain = {}
    for step in range(8):
        text = [*text[20:], *words(100 + step, 20)]
        chain[f"page{step}"] = " ".join(text)
    assert similarity(chain["page0"], chain["page7"]) < 0.5
    assert set(near_duplicates(chain, threshold=0.8).values()) == {"page0"}


@settings(deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from([0.3, 0.5, 0.8, 0.95, 1.0]))
def test_no_false_positives_and_clear_pairs_are_found(rng: random.Random, threshold: float) -> None:
    """Variants at every distance: joined only through pairs at the threshold, exact copies always."""
    base = rng.choices(VOCABULARY, k=60)
    texts = {"base": " ".join(base), "copy": " ".join(base)}
    for number, edits in enumerate((1, 2, 5, 10, 30)):
        variant = list(base)
        for at in rng.sample(range(60), edits):
            variant[at] = f"edit{number}"
        texts[f"variant{number}"] = " ".join(variant)
    copies = near_duplicates(texts, threshold=threshold)
    assert copies["copy"] == "base"
    for page in copies:
        others = [text for other, text in texts.items() if other != page]
        assert max(similarity(texts[page], text) for text in others) >= threshold


@settings(deadline=None)
@given(st.permutations([f"page{number}" for number in range(12)]))
def test_clusters_do_not_depend_on_the_order(order: list[str]) -> None:
    texts = {f"page{number}": " ".join([*words(number // 3), f"tail{number}"]) for number in range(12)}
    expected = clusters(near_duplicates(texts, threshold=0.8), list(texts))
    found = near_duplicates({page: texts[page] for page in order}, threshold=0.8)
    assert clusters(found, list(texts)) == expected
    assert len(expected) == 4
    for page, original in found.items():
        assert order.index(original) < order.index(page)


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0])
def test_the_index_misses_few_pairs_at_the_threshold(threshold: float) -> None:
    count, rows = bands(threshold)
    assert count * rows <= PERMUTATIONS
    assert (1 - threshold**rows) ** count <= MISSED_SHARE


@pytest.mark.parametrize("threshold", [0, -1, 1.5])
def test_a_threshold_that_is_no_share_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match="threshold"):
        near_duplicates({}, threshold=threshold)
