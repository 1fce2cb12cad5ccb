"""Splits: sticky, disjoint, families together, every page accounted for, whatever comes and goes."""

from collections import Counter, defaultdict
from dataclasses import dataclass, replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ml.records import Assignment, Split
from ml.splits import PageSplit, SplitSizes, Unused, assign, check_disjoint, split_pages, tally

SIZES = SplitSizes()


@dataclass(frozen=True, kw_only=True)
class Row:
    """The columns of a corpus row that splits read."""

    page_id: str
    publisher: str
    family: str
    duplicate_of: str | None = None


def single(count: int) -> dict[str, str]:
    """So many publishers, each its own family."""
    return {f"publisher{number:03}": f"publisher{number:03}" for number in range(count)}


def sizes_of(assignments: list[Assignment]) -> dict[str, int]:
    return dict(Counter(line.split for line in assignments))


def publishers_in(assignments: list[Assignment], split: Split) -> list[str]:
    return [line.publisher for line in assignments if line.split == split]


def split_of_family(assignments: list[Assignment]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for line in assignments:
        found[line.family].add(line.split)
    return found


# Twelve families at most; a publisher's name starts with its family, as templates do not change hands here.
worlds = st.dictionaries(
    st.tuples(st.integers(0, 11), st.integers(0, 3)).map(lambda at: f"f{at[0]}-p{at[1]}"),
    st.none(),
    max_size=40,
).map(lambda names: {name: name.partition("-")[0] for name in names})


@pytest.mark.parametrize(
    ("publishers", "validation", "test"),
    [(3, 1, 1), (4, 1, 1), (12, 1, 2), (25, 3, 4), (69, 7, 10), (70, 7, 10), (180, 7, 10)],
)
def test_small_corpora_hold_out_a_share_and_large_ones_the_full_number(
    publishers: int, validation: int, test: int
) -> None:
    assignments = assign(single(publishers), [], sizes=SIZES, seed=0)
    expected = {"train": publishers - validation - test, "validation": validation, "test": test}
    assert sizes_of(assignments) == expected


@pytest.mark.parametrize("families", [{}, {"a": "x"}, {"a": "x", "b": "y", "c": "y"}])
def test_fewer_than_three_families_are_refused(families: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="expected at least 3"):
        assign(families, [], sizes=SIZES, seed=0)


def test_a_ledger_that_contradicts_itself_is_refused_with_every_fault() -> None:
    ledger = [
        Assignment(publisher="a", family="a", split="train"),
        Assignment(publisher="a", family="a", split="test"),
        Assignment(publisher="b", family="b", split="dev"),
    ]
    with pytest.raises(ValueError, match="a has more than one line; b is in 'dev'"):
        assign(single(5), ledger, sizes=SIZES, seed=0)


@settings(deadline=None)
@given(st.lists(worlds, min_size=1, max_size=5), st.integers(0, 5))
def test_a_publisher_never_moves_and_families_stay_together(worlds: list[dict[str, str]], seed: int) -> None:
    """Any sequence of corpora, publishers and whole families coming and going between them."""
    assume(len(set(worlds[0].values())) >= 3)
    ledger: list[Assignment] = []
    for families in worlds:
        before = {line.publisher: line for line in ledger}
        ledger = assign(families, ledger, sizes=SIZES, seed=seed)
        after = {line.publisher: line for line in ledger}
        assert len(after) == len(ledger)
        assert after.keys() == before.keys() | families.keys()
        assert all(after[publisher] == line for publisher, line in before.items())
        assert all(len(splits) == 1 for splits in split_of_family(ledger).values())
        assert set(sizes_of(ledger)) == set(Split)
        assert assign(families, ledger, sizes=SIZES, seed=seed) == ledger


@given(worlds, st.integers(0, 5), st.data())
def test_assignment_does_not_depend_on_order(
    families: dict[str, str], seed: int, data: st.DataObject
) -> None:
    assume(len(set(families.values())) >= 3)
    shuffled = dict(data.draw(st.permutations(list(families.items()))))
    assert assign(shuffled, [], sizes=SIZES, seed=seed) == assign(families, [], sizes=SIZES, seed=seed)


def test_the_seed_chooses_other_publishers() -> None:
    chosen = {tuple(publishers_in(assign(single(40), [], sizes=SIZES, seed=s), Split.TEST)) for s in range(5)}
    assert len(chosen) == 5


def test_held_out_sets_grow_with_the_corpus_and_are_refilled_when_publishers_go() -> None:
    ledger = assign(single(12), [], sizes=SIZES, seed=0)
    grown = assign(single(180), ledger, sizes=SIZES, seed=0)
    assert sizes_of(grown) == {"train": 163, "validation": 7, "test": 10}
    gone = publishers_in(grown, Split.TEST)[:4]
    left = {publisher: family for publisher, family in single(200).items() if publisher not in gone}
    refilled = assign(left, grown, sizes=SIZES, seed=0)
    assert len(publishers_in(refilled, Split.TEST)) == 14
    assert set(gone) <= set(publishers_in(refilled, Split.TEST))


def test_publishers_that_come_one_by_one_give_full_held_out_sets() -> None:
    ledger: list[Assignment] = []
    for count in range(3, 181):
        ledger = assign(single(count), ledger, sizes=SIZES, seed=0)
    assert sizes_of(ledger) == {"train": 163, "validation": 7, "test": 10}


def test_one_template_does_not_fill_a_held_out_split() -> None:
    families = single(100) | {f"chain{number}": "chain" for number in range(8)}
    for seed in range(30):
        assignments = assign(families, [], sizes=SIZES, seed=seed)
        assert split_of_family(assignments)["chain"] == {"train"}
        assert sizes_of(assignments)["test"] == 10


def test_a_corpus_of_large_families_only_still_gets_three_splits() -> None:
    families = {f"{family}-{number}": family for family in "abc" for number in range(5)}
    assert sizes_of(assign(families, [], sizes=SIZES, seed=0)) == {"train": 5, "validation": 5, "test": 5}


def test_a_new_publisher_joins_the_split_of_its_family() -> None:
    ledger = assign(single(20), [], sizes=SIZES, seed=0)
    held_out = publishers_in(ledger, Split.TEST)[0]
    grown = assign(single(20) | {"sister": held_out}, ledger, sizes=SIZES, seed=0)
    assert "sister" in publishers_in(grown, Split.TEST)


def test_families_with_few_pages_are_held_out_last() -> None:
    families = single(40)
    pages = {publisher: (3 if number % 2 else 200) for number, publisher in enumerate(families)}
    for seed in range(10):
        assignments = assign(families, [], sizes=SIZES, seed=seed, pages=pages)
        held_out = publishers_in(assignments, Split.TEST) + publishers_in(assignments, Split.VALIDATION)
        assert {pages[publisher] for publisher in held_out} == {200}


def test_a_merged_family_stays_where_its_publishers_were_and_its_pages_leave_training() -> None:
    """Fundus moved a training publisher onto the template of a test publisher."""
    ledger = assign(single(20), [], sizes=SIZES, seed=0)
    tested, trained = publishers_in(ledger, Split.TEST)[0], publishers_in(ledger, Split.TRAIN)[0]
    families = single(20) | {trained: tested, "newcomer": tested}
    merged = assign(families, ledger, sizes=SIZES, seed=0)
    assert trained in publishers_in(merged, Split.TRAIN)
    assert "newcomer" in publishers_in(merged, Split.TEST)
    rows = [
        Row(page_id=f"page of {publisher}", publisher=publisher, family=families[publisher])
        for publisher in families
    ]
    pages = split_pages(rows, merged, sizes=SIZES, seed=0)
    assert [page.publisher for page in pages if page.reason == Unused.FAMILY_HELD_OUT] == [trained]
    assert check_disjoint(rows, pages, merged) == []


@st.composite
def corpora(draw: st.DrawFn) -> tuple[list[Row], list[Assignment]]:
    """Rows of some publishers, some near-copies of any page anywhere, and a ledger, now and then outdated."""
    families = draw(worlds.filter(lambda found: len(set(found.values())) >= 3))
    owners = draw(st.lists(st.sampled_from(sorted(families)), min_size=1, max_size=60))
    rows = [
        Row(page_id=f"{number:02}", publisher=owner, family=families[owner])
        for number, owner in enumerate(owners)
    ]
    originals = draw(st.lists(st.none() | st.integers(0, 5), min_size=len(rows), max_size=len(rows)))
    rows = [
        replace(row, duplicate_of=f"{at:02}") if at is not None and at < number and at < len(rows) else row
        for number, (row, at) in enumerate(zip(rows, originals, strict=True))
    ]
    rows = [row if row.page_id > "05" else replace(row, duplicate_of=None) for row in rows]
    return rows, assign(families, [], sizes=SIZES, seed=draw(st.integers(0, 3)))


@settings(deadline=None)
@given(corpora(), st.integers(1, 5), st.integers(0, 3), st.data())
def test_pages_are_accounted_for_and_splits_are_disjoint(
    corpus: tuple[list[Row], list[Assignment]], cap: int, seed: int, data: st.DataObject
) -> None:
    rows, assignments = corpus
    sizes = SplitSizes(pages_per_test_publisher=cap)
    pages = split_pages(rows, assignments, sizes=sizes, seed=seed)
    assert [page.page_id for page in pages] == sorted(row.page_id for row in rows)
    assert all((page.split is None) != (page.reason is None) for page in pages)
    assert sum(tally(pages).values()) == len(rows)
    in_test = Counter(page.publisher for page in pages if page.split == Split.TEST)
    assert all(count <= cap for count in in_test.values())
    leaks = [
        line for line in check_disjoint(rows, pages, assignments) if not line.startswith("no page is in")
    ]
    assert leaks == []
    shuffled = data.draw(st.permutations(rows))
    assert split_pages(shuffled, assignments, sizes=sizes, seed=seed) == pages


LEDGER = [
    Assignment(publisher="Courier", family="Courier", split="train"),
    Assignment(publisher="Herald", family="Herald", split="validation"),
    Assignment(publisher="Post", family="Post", split="test"),
]


def page_row(page_id: str, publisher: str, duplicate_of: str | None = None) -> Row:
    return Row(page_id=page_id, publisher=publisher, family=publisher, duplicate_of=duplicate_of)


def fates(rows: list[Row], **sizes: int) -> dict[str, str | None]:
    pages = split_pages(rows, LEDGER, sizes=SplitSizes(**sizes), seed=0)
    return {page.page_id: page.split or page.reason for page in pages}


def test_a_near_copy_stays_in_the_strictest_split_only() -> None:
    rows = [
        page_row("1", "Courier"),
        page_row("2", "Herald", duplicate_of="1"),
        page_row("3", "Post", duplicate_of="1"),
        page_row("4", "Courier"),
        page_row("5", "Herald", duplicate_of="4"),
        page_row("6", "Courier"),
        page_row("7", "Courier", duplicate_of="6"),
    ]
    assert fates(rows) == {
        "1": "near_duplicate",
        "2": "near_duplicate",
        "3": "test",
        "4": "near_duplicate",
        "5": "validation",
        "6": "train",
        "7": "train",
    }


def test_test_pages_are_capped_by_a_draw_that_new_pages_hardly_change() -> None:
    rows = [page_row(f"{number:03}", "Post") for number in range(50)]
    picked = {page for page, fate in fates(rows, pages_per_test_publisher=10).items() if fate == "test"}
    more = [*rows, page_row("050", "Post")]
    again = {page for page, fate in fates(more, pages_per_test_publisher=10).items() if fate == "test"}
    assert len(picked) == len(again) == 10
    assert len(picked & again) >= 9
    assert picked != {f"{number:03}" for number in range(10)}


def test_a_copy_of_a_test_page_that_the_cap_leaves_out_does_not_return_to_training() -> None:
    rows = [page_row(f"{number}", "Post") for number in range(9)]
    rows += [page_row(f"copy{number}", "Courier", duplicate_of=str(number)) for number in range(9)]
    counts = Counter(fates(rows, pages_per_test_publisher=2).values())
    assert counts == {"test": 2, "over_test_cap": 7, "near_duplicate": 9}


def test_a_publisher_without_an_assignment_is_named() -> None:
    with pytest.raises(ValueError, match="Gazette"):
        split_pages([page_row("1", "Gazette")], LEDGER, sizes=SIZES, seed=0)


def a_page(page_id: str, publisher: str, split: str | None, reason: str | None = None) -> PageSplit:
    return PageSplit(
        page_id=page_id, publisher=publisher, family=publisher, cluster=page_id, split=split, reason=reason
    )


SOUND_ROWS = [
    page_row("1", "Courier"),
    page_row("2", "Herald"),
    page_row("3", "Post"),
    page_row("4", "Courier"),
]
SOUND = [
    a_page("1", "Courier", "train"),
    a_page("2", "Herald", "validation"),
    a_page("3", "Post", "test"),
    a_page("4", "Courier", "train"),
]


def test_sound_splits_have_no_violations() -> None:
    assert check_disjoint(SOUND_ROWS, SOUND, LEDGER) == []


@pytest.mark.parametrize(
    ("rows", "pages", "violations"),
    [
        (SOUND_ROWS, SOUND[:3], ["page 4: 1 times in the corpus, 0 in the splits"]),
        (SOUND_ROWS[:3], SOUND, ["page 4: 0 times in the corpus, 1 in the splits"]),
        (SOUND_ROWS, [*SOUND, SOUND[3]], ["page 4: 1 times in the corpus, 2 in the splits"]),
        (SOUND_ROWS, [*SOUND[:3], a_page("4", "Courier", None)], ["page 4 needs a split or a reason"]),
        (
            SOUND_ROWS,
            [*SOUND[:3], a_page("4", "Courier", "test")],
            [
                "pages of Courier are in test, the ledger says train",
                "the publisher Courier is in test (Courier) and train (Courier)",
                "the family Courier is in test (Courier) and train (Courier)",
            ],
        ),
        (
            [*SOUND_ROWS[:3], replace(SOUND_ROWS[3], family="Post")],
            SOUND,
            ["the family Post is in test (Post) and train (Courier)"],
        ),
        (
            [*SOUND_ROWS[:3], replace(SOUND_ROWS[3], duplicate_of="3")],
            SOUND,
            ["the cluster of near-duplicates 3 is in test (Post) and train (Courier)"],
        ),
        (
            [SOUND_ROWS[0], *SOUND_ROWS[2:]],
            [SOUND[0], *SOUND[2:]],
            ["no page is in validation"],
        ),
    ],
    ids=["lost", "invented", "doubled", "without fate", "publisher", "family", "cluster", "empty"],
)
def test_each_violation_is_named(rows: list[Row], pages: list[PageSplit], violations: list[str]) -> None:
    found = check_disjoint(rows, pages, LEDGER)
    assert len(found) == len(violations)
    for line, expected in zip(found, violations, strict=True):
        assert line.startswith(expected)
