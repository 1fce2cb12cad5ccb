"""ROUGE-Lsum by hand."""

import pytest

from ml.metrics import rouge_l, rouge_lsum


def test_the_order_of_lines_does_not_count() -> None:
    text, swapped = "a b c\nd e f", "d e f\na b c"
    assert rouge_lsum.score(swapped, text) == rouge_lsum.score_paper(swapped, text) == 1
    assert rouge_l.score(swapped, text) == pytest.approx(1 / 2)


def test_a_line_is_covered_by_several() -> None:
    # Lin's example: w1 w2 of the one and w1 w3 w5 of the other cover 4 of 5 words; the prediction has 5 + 5
    prediction, reference = "w1 w2 w6 w7 w8\nw1 w3 w8 w9 w5", "w1 w2 w3 w4 w5"
    precision, recall = 4 / 10, 4 / 5
    expected = 2 * precision * recall / (precision + recall)
    assert rouge_lsum.score(prediction, reference) == pytest.approx(expected)


def test_a_word_counts_as_often_as_both_have_it() -> None:
    # x is covered in both reference lines but predicted once: 1 of 2 predicted, 1 of 4 wanted
    assert rouge_lsum.score("x z", "x a\nx b") == pytest.approx(2 * 1 / (2 + 4))


def test_a_repeated_reference_line_counts_each_time() -> None:
    assert rouge_lsum.score("a b\na b", "a b\na b") == 1
    # covered twice, predicted once: 2 of 2 and 2 of 4
    assert rouge_lsum.score("a b", "a b\na b") == pytest.approx(2 * 2 / (2 + 4))


def test_empty_lines_do_not_matter() -> None:
    assert rouge_lsum.score("\n\na b\n\n", "a b") == rouge_lsum.score_paper("\n\na b\n\n", "a b") == 1
    assert rouge_lsum.score("\n\n", " \n") == 1
    assert rouge_lsum.score_paper("\n\n", " \n") == 0
