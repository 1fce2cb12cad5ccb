"""Which publisher, and which page, belongs to training, validation or test.

Belongs here: the sticky ledger, the pages of each split and the proof that splits are disjoint. Does not
belong here: which pages are fit at all (`ml/corpus.py`) or what an example looks like
(`ml/training_sets.py`).

Held-out publishers are a plain random sample of families, not balanced by language: a balanced test set
would not show what the average new publisher gets, and would take rare languages out of training.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256
from statistics import median
from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field

from ml.records import Assignment, Record, Split

VALIDATION_SHARE = 0.10
TEST_SHARE = 0.15

STRICTEST_FIRST = (Split.TEST, Split.VALIDATION, Split.TRAIN)
"""Where two splits claim one template or one text, the earlier of these keeps it."""


class SplitSizes(BaseModel):
    """How much is held out. Small corpora hold out a share instead, at least one publisher each."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    validation_publishers: int = Field(default=7, gt=0)
    test_publishers: int = Field(default=10, gt=0)
    pages_per_test_publisher: int = Field(default=100, gt=0)

    def validation_target(self, publishers: int) -> int:
        """Validation publishers wanted of a corpus of so many: a tenth, up to the full number."""
        return _target(self.validation_publishers, VALIDATION_SHARE, publishers)

    def test_target(self, publishers: int) -> int:
        """Test publishers wanted of a corpus of so many: 15%, up to the full number."""
        return _target(self.test_publishers, TEST_SHARE, publishers)


def _target(full: int, share: float, publishers: int) -> int:
    return min(full, max(1, int(share * publishers + 0.5)))


class Unused(StrEnum):
    """Why a kept page is in no split."""

    OVER_TEST_CAP = "over_test_cap"
    NEAR_DUPLICATE = "near_duplicate"  # of a page that a stricter split holds out
    FAMILY_HELD_OUT = "family_held_out"  # Fundus moved the publisher into a family that is held out


class Page(Protocol):
    """What a split needs to know of a kept corpus row; `CorpusRow` fulfils it, so does a lighter row."""

    @property
    def page_id(self) -> str: ...
    @property
    def publisher(self) -> str: ...
    @property
    def family(self) -> str: ...
    @property
    def duplicate_of(self) -> str | None: ...


@dataclass(frozen=True, kw_only=True)
class PageSplit(Record):
    """Where one kept page went: a split, or the reason why to none."""

    page_id: str
    publisher: str
    family: str
    cluster: str  # page_id of the original among its near-duplicates; its own where it has none
    split: str | None  # a `Split`
    reason: str | None  # an `Unused`; None where there is a split


def assign(
    families: Mapping[str, str],
    ledger: Sequence[Assignment],
    *,
    sizes: SplitSizes,
    seed: int,
    pages: Mapping[str, int] | None = None,
) -> list[Assignment]:
    """The ledger with every publisher of `families` added, sorted by publisher.

    `families` maps each publisher of the corpus to its family. A line of the ledger never changes and never
    goes, not even when its publisher does; a new publisher of a known family joins that family's split.
    New families are drawn in the order of a seeded hash until test, then validation, hold as many
    publishers as `sizes` wants of a corpus this large; the rest train. `pages`, kept pages by publisher,
    draws families with far fewer than usual last. Raises `ValueError` where the ledger contradicts itself
    or there are fewer than three families, one for each split.
    """
    known = _splits_by_publisher(ledger)
    _require_three_families({*families.values(), *(line.family for line in ledger)})
    splits = _splits_by_family(families, ledger)
    members = Counter(families.values())
    queue = sorted(members.keys() - splits.keys(), key=_draw_order(families, sizes, seed, pages))
    held = Counter(known.get(publisher, splits.get(family)) for publisher, family in families.items())
    wanted = {
        Split.TEST: sizes.test_target(len(families)),
        Split.VALIDATION: sizes.validation_target(len(families)),
    }
    for split, target in wanted.items():
        empty_later = sum(not held[later] for later in STRICTEST_FIRST[STRICTEST_FIRST.index(split) + 1 :])
        drawn = _draw(queue, members, wanted=target - held[split], at_most=len(queue) - empty_later)
        splits |= dict.fromkeys(drawn, split)
        queue = [family for family in queue if family not in drawn]
    splits |= dict.fromkeys(queue, Split.TRAIN)
    new = [
        Assignment(publisher=publisher, family=family, split=splits[family])
        for publisher, family in families.items()
        if publisher not in known
    ]
    return sorted([*ledger, *new], key=lambda line: line.publisher)


def _splits_by_publisher(ledger: Iterable[Assignment]) -> dict[str, Split]:
    splits: dict[str, Split] = {}
    faults = []
    for line in ledger:
        if line.split not in set(Split):
            faults.append(f"{line.publisher} is in {line.split!r}, expected one of {', '.join(Split)}")
        elif line.publisher in splits:
            faults.append(f"{line.publisher} has more than one line")
        else:
            splits[line.publisher] = Split(line.split)
    if faults:
        raise ValueError("the split ledger contradicts itself; repair these lines: " + "; ".join(faults))
    return splits


def _require_three_families(families: Collection[str]) -> None:
    if len(families) < len(Split):
        raise ValueError(
            f"found {len(families)} publisher families ({', '.join(sorted(families)) or 'none'}), expected "
            f"at least {len(Split)}: one each for training, validation and test. Crawl more publishers, or "
            f"see in the corpus' retention table why their pages were rejected"
        )


def _splits_by_family(families: Mapping[str, str], ledger: Iterable[Assignment]) -> dict[str, Split]:
    """The split of each family the ledger knows, under its name then and its name now.

    Where Fundus merges families of different splits, the strictest holds for newcomers.
    """
    claims: dict[str, set[str]] = defaultdict(set)
    for line in ledger:
        claims[line.family].add(line.split)
        claims[families.get(line.publisher, line.family)].add(line.split)
    return {family: _strictest(found) for family, found in claims.items()}


def _strictest(splits: Collection[str]) -> Split:
    return next(split for split in STRICTEST_FIRST if split in splits)


def _draw_order(
    families: Mapping[str, str], sizes: SplitSizes, seed: int, pages: Mapping[str, int] | None
) -> Callable[[str], tuple[bool, str]]:
    """Sorts families by a seeded hash, those whose largest publisher is below half the usual size last."""
    largest: Counter[str] = Counter()
    usual = 0.0
    if pages is not None and families:
        usual = min(sizes.pages_per_test_publisher, median(pages.get(publisher, 0) for publisher in families))
        for publisher, family in families.items():
            largest[family] = max(largest[family], pages.get(publisher, 0))
    return lambda family: (largest[family] < usual / 2, _seeded(seed, family))


def _seeded(seed: int, name: str) -> str:
    """A random-looking order that an added or removed name does not disturb, as a shuffle would."""
    return sha256(f"{seed}:{name}".encode()).hexdigest()


def _draw(queue: Sequence[str], members: Mapping[str, int], *, wanted: int, at_most: int) -> set[str]:
    """The first families of the queue that together hold `wanted` publishers, at most `at_most` of them.

    No family fills more than half, so that a split is more than one template; where every family is larger
    than that, the first of the smallest is taken.
    """
    drawn: set[str] = set()
    if wanted <= 0 or at_most <= 0:
        return drawn
    left = wanted
    for family in queue:
        if members[family] <= min(left, max(1, wanted // 2)) and len(drawn) < at_most:
            drawn.add(family)
            left -= members[family]
    return drawn or {min(queue, key=members.__getitem__)}


def split_pages(
    rows: Iterable[Page], assignments: Iterable[Assignment], *, sizes: SplitSizes, seed: int
) -> list[PageSplit]:
    """Where each kept row goes, sorted by page; every row comes out once, with a split or a reason.

    A page follows its publisher unless a stricter split holds its family or a near-copy of it (test before
    validation before training). That counts all pages of held-out publishers, so which pages the cap on
    test picks changes nothing elsewhere. Raises `ValueError` where a row's publisher has no assignment.
    """
    rows = sorted(rows, key=lambda row: row.page_id)
    splits = _splits_by_publisher(assignments)
    if strangers := sorted({row.publisher for row in rows} - splits.keys()):
        raise ValueError(
            f"no split is assigned to {', '.join(strangers)}; run `assign` on their families first"
        )
    pages = [
        PageSplit(
            page_id=row.page_id,
            publisher=row.publisher,
            family=row.family,
            cluster=_cluster(row),
            split=splits[row.publisher],
            reason=None,
        )
        for row in rows
    ]
    pages = _yield_to_strictest(pages, lambda page: page.family, Unused.FAMILY_HELD_OUT)
    pages = _yield_to_strictest(pages, lambda page: page.cluster, Unused.NEAR_DUPLICATE)
    return _cap_test(pages, sizes.pages_per_test_publisher, seed)


def _cluster(row: Page) -> str:
    return row.duplicate_of or row.page_id


def _unused(page: PageSplit, reason: Unused) -> PageSplit:
    return replace(page, split=None, reason=reason)


def _yield_to_strictest(
    pages: Sequence[PageSplit], key: Callable[[PageSplit], str], reason: Unused
) -> list[PageSplit]:
    """Take pages out of every split but the strictest that shares their key."""
    claims: dict[str, set[str]] = defaultdict(set)
    for page in pages:
        if page.split:
            claims[key(page)].add(page.split)
    return [
        page if page.split is None or page.split == _strictest(claims[key(page)]) else _unused(page, reason)
        for page in pages
    ]


def _cap_test(pages: Sequence[PageSplit], cap: int, seed: int) -> list[PageSplit]:
    """Keep at most `cap` test pages of each publisher, drawn by a seeded hash."""
    drawn: dict[str, list[str]] = defaultdict(list)
    for page in sorted(pages, key=lambda page: _seeded(seed, page.page_id)):
        if page.split == Split.TEST and len(drawn[page.publisher]) < cap:
            drawn[page.publisher].append(page.page_id)
    picked = {page_id for page_ids in drawn.values() for page_id in page_ids}
    return [
        _unused(page, Unused.OVER_TEST_CAP)
        if page.split == Split.TEST and page.page_id not in picked
        else page
        for page in pages
    ]


def tally(pages: Iterable[PageSplit]) -> dict[str, int]:
    """Pages by split or, where unused, by reason; splits and reasons without a page count 0."""
    counts = Counter(page.split or page.reason for page in pages)
    return {fate: counts[fate] for fate in (*Split, *Unused)}


def check_disjoint(
    rows: Iterable[Page], pages: Sequence[PageSplit], assignments: Iterable[Assignment]
) -> list[str]:
    """Every way in which splits leak or lose pages, in words; empty when they are sound.

    Publisher, family and cluster are those of the corpus rows, not those the split wrote down itself.
    """
    rows = list(rows)
    splits = {page.page_id: page.split for page in pages}
    used = [(row, split) for row in rows if (split := splits.get(row.page_id))]
    assigned = {line.publisher: line.split for line in assignments}
    return [
        *_lost_pages(rows, pages),
        *_moved_publishers(used, assigned),
        *_spread(used, "publisher", lambda row: row.publisher),
        *_spread(used, "family", lambda row: row.family),
        *_spread(used, "cluster of near-duplicates", _cluster),
        *(f"no page is in {split}" for split in Split if split not in {found for _, found in used}),
    ]


def _lost_pages(rows: Iterable[Page], pages: Iterable[PageSplit]) -> Iterator[str]:
    """Pages that the split does not account for exactly once."""
    expected = Counter(row.page_id for row in rows)
    found = Counter(page.page_id for page in pages)
    for page_id in sorted(expected.keys() | found.keys()):
        if (expected[page_id], found[page_id]) != (1, 1):
            yield f"page {page_id}: {expected[page_id]} times in the corpus, {found[page_id]} in the splits"
    for page in pages:
        if (page.split is None) == (page.reason is None):
            yield f"page {page.page_id} needs a split or a reason, found {page.split!r} and {page.reason!r}"


def _moved_publishers(used: Iterable[tuple[Page, str]], assigned: Mapping[str, str]) -> Iterator[str]:
    moved = {(row.publisher, split) for row, split in used if assigned.get(row.publisher) != split}
    for publisher, split in sorted(moved):
        yield f"pages of {publisher} are in {split}, the ledger says {assigned.get(publisher)}"


def _spread(used: Iterable[tuple[Page, str]], what: str, key: Callable[[Page], str]) -> Iterator[str]:
    """Everything that is in more than one split and must not be."""
    publishers: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row, split in used:
        publishers[key(row)][split].add(row.publisher)
    for name, found in sorted(publishers.items()):
        if len(found) > 1:
            places = " and ".join(
                f"{split} ({', '.join(sorted(who))})" for split, who in sorted(found.items())
            )
            yield f"the {what} {name} is in {places}"
