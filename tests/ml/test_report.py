"""The report shows what it was given, says nothing it cannot know, and lets no page's text act."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest

from ml.evaluation import Reference, score_predictions, summarise
from ml.records import Prediction
from ml.report.difference import MAX_COMPARED_WORDS, Kind, Piece, side_by_side
from ml.report.report import CorpusFacts, ReportInput, SplitSize, render_html, render_markdown

HOSTILE = "</p></details><script>alert('x')</script><img src=x onerror=alert(1)> {{ 7 * 7 }} & | \u202e"
TEXT = "The council voted on Monday evening.\n\nThe mayor was not there, and nobody asked why."
PUBLISHERS = ("Gazette", "Tageblatt", "Asahi")
LANGUAGES = {"Gazette": "en", "Tageblatt": "de", "Asahi": None}


@dataclass(frozen=True)
class Point:
    name: str
    step: int
    value: float


def reference(number: int, publisher: str) -> Reference:
    return Reference(
        page_id=f"{publisher}-{number}",
        url=f"https://{publisher.lower()}.example/{number}?a=1&b=<2>",
        publisher=publisher,
        language=LANGUAGES[publisher],
        plaintext=TEXT,
        json="{}",
        compact=f"<p>{TEXT}</p>",
    )


REFERENCES = {
    row.page_id: row
    for row in (reference(number, publisher) for publisher in PUBLISHERS for number in range(4))
}


def predictions(
    extractor: str, text: str, json: str | None = None, error: str | None = None
) -> list[Prediction]:
    return [
        Prediction(
            page_id=row.page_id,
            url=row.url,
            publisher=row.publisher,
            language=row.language,
            extractor=extractor,
            text=text,
            json=json,
            truncated=json is not None,
            seconds=0.25,
            error=error,
        )
        for row in REFERENCES.values()
    ]


def report(rows: Sequence[Prediction], **changes: object) -> ReportInput:
    scores = score_predictions(rows, REFERENCES)
    whole = ReportInput(
        title="Extraction on unseen publishers",
        generated=datetime(2024, 5, 1, 8, 30, tzinfo=UTC),
        provenance={"Corpus": "c0ffee", "Fundus": "0.5.7"},
        summaries=summarise(scores),
        scores=scores,
        predictions=rows,
        references=REFERENCES,
        corpus=CorpusFacts(
            outcomes={"kept": 90, "low_coverage": 7, "no_body": 3},
            languages={"en": 60, "de": 30},
            input_tokens=[3000, 4000, 5000],
            output_tokens=[400, 500, 600],
            splits=[SplitSize(split="train", publishers=11, families=9, pages=78)],
        ),
        training={"tiny-json": [Point("loss", step, 1 / (step + 1)) for step in range(20)]},
        notes=["One publisher is new."],
    )
    return replace(whole, **changes)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def whole() -> ReportInput:
    good = predictions("trafilatura", TEXT)
    poor = predictions("tiny-json", "The the the the council.", json='{"title": NaN}')
    return report([*poor, *good])


@pytest.fixture(scope="module")
def html(whole: ReportInput) -> str:
    return render_html(whole)


class Outline(HTMLParser):
    """Tags, attributes and open elements of a page, as a browser would see them."""

    VOID = frozenset({"meta", "col", "br", "img", "link", "input"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.misnested: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.misnested.append(tag)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def text_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def test_it_is_well_formed_and_needs_nothing_from_outside(html: str) -> None:
    outline = Outline(html)
    assert (outline.misnested, outline.open) == ([], [])
    assert not {name for name, _ in outline.tags} & {"script", "link", "iframe", "object", "base", "form"}
    addresses = [
        value
        for _, attributes in outline.tags
        for name, value in attributes.items()
        if name in ("src", "href", "xlink:href") and value
    ]
    assert addresses
    assert all(address.startswith(("#", "data:image/png")) for address in addresses)
    assert "@import" not in html
    assert not re.search(r"url\((?!#)", html)


def test_ids_are_unique_and_references_resolve(html: str) -> None:
    outline = Outline(html)
    ids = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    wanted = re.findall(r'(?:href="#|url\(#|aria-labelledby=")([^")]+)', html)
    assert set(wanted) <= set(ids)


def test_tables_and_figures_are_accessible(html: str) -> None:
    outline = Outline(html)
    assert outline.all("html")[0]["lang"] == "en"
    assert len(outline.all("caption")) == len(outline.all("table")) > 4
    assert all("scope" in cell for cell in outline.all("th"))
    assert all(svg["role"] == "img" and svg["aria-labelledby"] for svg in outline.all("svg"))
    assert len(outline.all("figcaption")) == len(outline.all("figure")) == len(outline.all("svg"))
    scrollers = [attributes for attributes in outline.all("div") if attributes.get("class") == "scroll"]
    assert scrollers
    assert all(box["tabindex"] == "0" and box["aria-label"] for box in scrollers)


def test_it_shows_scores_provenance_corpus_and_training(html: str) -> None:
    text = text_of(html)
    for expected in (
        "Extraction on unseen publishers",
        "2 extractors on 12 held-out pages of 3 publishers",
        "2024-05-01 08:30 UTC",
        "Corpus c0ffee",
        "1.000 1.000–1.000",
        "kept 90 90.0%",
        "low coverage 7 7.0%",
        "train 11 9 78",
        "One publisher is new.",
        "tiny-json, over its training steps.",
        "unknown 4",
    ):
        assert expected in text, expected


def test_extractors_come_in_order_and_only_the_clearly_better_one_is_marked(html: str) -> None:
    table = html[html.index('class="scores"') : html.index("</table>")]
    best, rest = table[table.index("<tbody>") :].split("</tr>")[:2]
    assert "trafilatura" in best
    assert "<b>1.000</b>" in best
    assert "tiny-json" in rest
    assert "<b>" not in rest


def test_equal_extractors_are_not_ranked() -> None:
    twins = render_html(report([*predictions("one", TEXT), *predictions("two", TEXT)]))
    assert "<b>1.000</b>" not in twins


def test_the_tiny_model_is_explained_only_where_there_is_one(html: str) -> None:
    assert "say nothing about the method" in html
    others = report(predictions("trafilatura", TEXT))
    assert "say nothing about the method" not in render_html(others)
    assert "say nothing about the method" not in render_markdown(others)


def test_differences_are_marked_on_their_side(html: str) -> None:
    assert re.search(r"<ins>[^<]*the the", html)
    assert re.search(r"<del>[^<]*mayor was not there", html)


def test_hostile_text_is_text_and_nothing_else() -> None:
    rows = predictions(f"x{HOSTILE}", HOSTILE, error=HOSTILE)
    hostile = report(
        [replace(row, publisher=HOSTILE, language=HOSTILE, url=HOSTILE) for row in rows],
        title=HOSTILE,
        provenance={HOSTILE: HOSTILE},
        notes=[HOSTILE],
        corpus=CorpusFacts(
            outcomes={HOSTILE: 1},
            languages={HOSTILE: 1},
            splits=[SplitSize(split=HOSTILE, publishers=1, families=1, pages=1)],
        ),
        training={HOSTILE: [Point(HOSTILE, 1, 1.0)]},
    )
    html = render_html(hostile)
    outline = Outline(html)
    assert (outline.misnested, outline.open) == ([], [])
    names = {name for name, _ in outline.tags}
    assert not names & {"script", "img"}
    assert not [1 for _, attributes in outline.tags if any(name.startswith("on") for name in attributes)]
    assert "{{ 7 * 7 }}" in html
    assert "default-src 'none'" in html
    assert "<script" not in render_markdown(hostile)


def test_it_renders_with_the_least_there_can_be() -> None:
    bare = report(predictions("only", ""), corpus=None, training={}, notes=(), provenance={})
    html = render_html(bare)
    assert "Corpus" not in text_of(html)
    assert "no text" in text_of(html)
    assert "## Corpus" not in render_markdown(bare)


def test_markdown_has_whole_tables(whole: ReportInput) -> None:
    lines = render_markdown(whole).splitlines()
    tables = [line for line in lines if line.startswith("|")]
    assert any(line.startswith("| trafilatura | **1.000** [1.000–1.000] |") for line in tables)
    assert "| low coverage | 7 | 7.0% |" in tables
    widths: dict[int, int] = {}
    for number, line in enumerate(lines):
        if line.startswith("|"):
            start = number if number == 0 or not lines[number - 1].startswith("|") else widths[number - 1]
            widths[number] = start
            assert line.count("|") == lines[start].count("|"), line


def test_side_by_side_ignores_case_and_punctuation() -> None:
    left, right = side_by_side("One, TWO three!", "one two four")
    assert left == [Piece(Kind.SHARED, "One, TWO"), Piece(Kind.OWN, " three")]
    assert right == [Piece(Kind.SHARED, "one two"), Piece(Kind.OWN, " four")]


def test_side_by_side_compares_characters_where_there_are_no_spaces() -> None:
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
