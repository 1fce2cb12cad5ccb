"""Two texts side by side: what counts as different, and what is left out of the display."""

from ml.report.difference import MAX_COMPARED_WORDS, Kind, Piece, side_by_side


def test_case_and_punctuation_do_not_count() -> None:
    left, right = side_by_side("One, TWO three!", "one two four")
    assert left == [Piece(Kind.SHARED, "One, TWO"), Piece(Kind.OWN, " three")]
    assert right == [Piece(Kind.SHARED, "one two"), Piece(Kind.OWN, " four")]


def test_characters_are_compared_where_there_are_no_spaces() -> None:
    left, right = side_by_side("議会は採決した", "議会は今日採決した")
    assert left == [Piece(Kind.SHARED, "議会は"), Piece(Kind.SHARED, "採決した")]
    assert right == [Piece(Kind.SHARED, "議会は"), Piece(Kind.OWN, "今日"), Piece(Kind.SHARED, "採決した")]


def test_long_agreement_and_long_differences_are_counted_and_not_shown() -> None:
    words = " ".join(f"w{number}" for number in range(100))
    left, _ = side_by_side(words, words)
    assert [piece.text for piece in left if piece.kind is Kind.LEFT_OUT] == ["84 words alike"]
    other = " ".join(f"x{number}" for number in range(MAX_COMPARED_WORDS + 500))
    left, right = side_by_side(words, other)
    assert [piece.text for piece in left if piece.kind is Kind.LEFT_OUT] == []
    assert right[-1] == Piece(Kind.LEFT_OUT, f"{MAX_COMPARED_WORDS + 500 - 220:,} more words")


def test_nothing_and_only_punctuation() -> None:
    assert side_by_side("", " \n ") == ([], [])
    assert side_by_side("…", "")[0] == [Piece(Kind.OWN, "…")]
