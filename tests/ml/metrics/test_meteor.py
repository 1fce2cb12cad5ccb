"""METEOR by hand, and without WordNet."""

from pathlib import Path

import pytest

from ml.metrics import meteor


def test_words_of_one_run_cost_little(wordnet: Path) -> None:
    # 4 of 4 words in one chunk: mean 1, penalty 0.5 * (1/4)^3
    assert meteor.score("a b c d", "a b c d") == pytest.approx(1 - 0.5 / 64)


def test_recall_weighs_nine_times_precision(wordnet: Path) -> None:
    # 2 of 4 predicted, 2 of 2 wanted, one chunk: P 1/2, R 1: PR / (0.9 P + 0.1 R) = 0.5 / 0.55; 0.5 * (1/2)^3
    assert meteor.score("x y a b", "a b") == pytest.approx(0.5 / 0.55 * (1 - 0.5 / 8))
    # the other way round: 0.5 / (0.9 + 0.05)
    assert meteor.score("a b", "x y a b") == pytest.approx(0.5 / 0.95 * (1 - 0.5 / 8))


def test_swapped_halves_are_two_chunks(wordnet: Path) -> None:
    # all 4 words match, c d and a b each in a run: 0.5 * (2/4)^3
    assert meteor.score("c d a b", "a b c d") == pytest.approx(1 - 0.5 / 8)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        ("voting", "voted"),  # both have the stem vote
        ("car", "auto"),  # both name one synset
        ("cars", "auto"),  # by the stem car
        ("kids", "child"),
    ],
)
def test_stems_and_synonyms_match(found: str, wanted: str, wordnet: Path) -> None:
    # one word, one chunk: 1 - 0.5 * 1
    assert meteor.score(found, wanted) == pytest.approx(0.5)
    assert meteor.score_paper(found, wanted) == pytest.approx(0.5)


def test_other_words_do_not_match(wordnet: Path) -> None:
    assert meteor.score("car", "house") == 0


def test_synonyms_are_looked_up_for_stems_as_nltk_does(wordnet: Path) -> None:
    # a synonym of car is automobile, but what is left of that is the stem automobil
    assert meteor.score("car", "automobile") == 0


def test_the_paper_counts_punctuation_but_not_case(wordnet: Path) -> None:
    # the, council, voted and the full stop: 4 tokens
    assert meteor.score_paper("The council voted.", "the Council VOTED.") == pytest.approx(1 - 0.5 / 64)
    assert meteor.score("The council voted.", "the Council VOTED.") == pytest.approx(1 - 0.5 / 27)


def test_a_missing_wordnet_is_named_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEWSLM_WORDNET", str(tmp_path))
    reason = meteor.unavailable()
    assert reason is not None
    assert f"in {tmp_path}" in reason
    assert "index.noun" in reason
    assert "apt-get install wordnet-base" in reason
    assert "NEWSLM_WORDNET" in reason
    with pytest.raises(RuntimeError, match="apt-get install wordnet-base"):
        meteor.score("a", "a")


def test_another_version_of_wordnet_is_not_taken(
    wordnet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in wordnet.glob("*.*"):
        (tmp_path / file.name).write_text("  1 WordNet 3.1 Copyright 2011\n")
    monkeypatch.setenv("NEWSLM_WORDNET", str(tmp_path))
    assert "expected WordNet 3.0" in str(meteor.unavailable())


def test_the_folder_can_be_named(wordnet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEWSLM_WORDNET", str(wordnet))
    assert meteor.unavailable() is None
