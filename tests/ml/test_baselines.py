"""Baselines get raw HTML, and no page can stop the run."""

import importlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from types import ModuleType

import pytest
from dateutil.tz import tzoffset

from ml.article import Article
from ml.baselines.base import Baseline, PageInput, run_baseline
from ml.baselines.extraction import Extraction
from ml.baselines.registry import BASELINES
from ml.records import Prediction

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
STORED = HERE.parent / "data" / "pages"

TITLE = "Council rebuilds the old bridge over the river"
PARAGRAPHS = [
    "The town council voted on Monday evening to rebuild the old bridge over the river, which has been closed since "
    "the flood of last March and which, as everybody in the room agreed, is missed by everybody in the town.",
    "Work will start in autumn, said the mayor, and the first carts should cross it before the winter comes, unless "
    "the masons find more cracks than the three engineers did who looked at both of the arches in the spring.",
    "The bridge was built in 1911 from the stones of the old town wall, which the town did not need any more, and "
    "it was paid for by a tax on beer that its people remember to this day, although it was lifted long ago.",
]
NEWS = (
    f"<html lang='en'><head><title>{TITLE} | Gazette</title><meta property='og:title' content='{TITLE}'>"
    "<meta property='og:image' content='https://images.gazette.example/bridge.jpg'>"
    "<meta name='keywords' content='bridges, town council'><script type='application/ld+json'>"
    f'{{"@context": "https://schema.org", "@type": "NewsArticle", "headline": "{TITLE}", '
    '"datePublished": "2024-03-05T06:30:00+01:00", "author": ['
    '{"@type": "Person", "name": "Ann Miller"}, {"@type": "Person", "name": "Tom Baker"}]}'
    "</script><script>var menu = 'not text';</script></head><body>"
    f"<nav><a href='/a'>Home</a> <a href='/b'>Sport</a></nav><article><h1>{TITLE}</h1><img src='/bridge.jpg'>"
    + "".join(f"<p>{text}</p>" for text in PARAGRAPHS)
    + "</article><footer><a href='/i'>Imprint</a></footer></body></html>"
)
HOSTILE = {
    "empty": "",
    "no text": "<html></html>",
    "only closing tags": "</a></a></p></div>",
    "control characters": NEWS.replace("council", "cou\x00\x01\x0bncil"),
    "half a character": NEWS.replace("council", "cou\ud800ncil"),
    "wrong charset": NEWS.replace("bridge", "Brücke, 橋").encode().decode("latin-1"),
    "declared encoding": '<?xml version="1.0" encoding="utf-16"?>' + NEWS,
    "open brackets": "<" * 10_000,
    "nested 100,000 deep": "<div>" * 100_000 + PARAGRAPHS[0] + "</div>" * 100_000,
    "5 MB": NEWS.replace("</article>", f"<p>{PARAGRAPHS[1]}</p>" * 24_000 + "</article>"),
}


def page(html: str, page_id: str = "p") -> PageInput:
    return PageInput(
        page_id=page_id, url="https://gazette.example/bridge", publisher="Gazette", language="en", html=html
    )


def run(
    baseline: Baseline, htmls: Sequence[str], *, timeout_s: float = 60, memory_limit_mib: int = 2048
) -> list[Prediction]:
    pages = [page(html, page_id=str(number)) for number, html in enumerate(htmls)]
    return list(run_baseline(baseline, pages, timeout_s=timeout_s, memory_limit_mib=memory_limit_mib))


def misbehaving_baselines() -> ModuleType:
    return importlib.import_module("misbehaving_baselines")


@pytest.fixture(scope="module", autouse=True)
def _misbehaving_can_be_imported() -> Iterator[None]:
    """Here and in the worker, which inherits the path."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(HERE)
        yield


@pytest.fixture
def misbehaving() -> ModuleType:
    return misbehaving_baselines()


@pytest.fixture(scope="module", params=BASELINES.values(), ids=BASELINES)
def baseline(request: pytest.FixtureRequest) -> Baseline:
    library: Baseline = request.param
    return library


@pytest.fixture(scope="module")
def answers(baseline: Baseline) -> dict[str, Prediction]:
    """What a baseline makes of all pages in one go: without a network, and with little time for hostile ones."""
    stored = {path.name: path.read_text() for path in (STORED / "nordblick.html", STORED / "oldtown.html")}
    pages = {"news": NEWS, **stored, **HOSTILE, "news again": NEWS}
    rows = run(misbehaving_baselines().Offline(baseline), list(pages.values()), timeout_s=2)
    return dict(zip(pages, rows, strict=True))


def test_a_clean_page_gives_its_paragraphs(baseline: Baseline, answers: dict[str, Prediction]) -> None:
    found = answers["news"]
    assert found.error is None
    assert [text for text in PARAGRAPHS if text not in found.text] == []
    assert "not text" not in found.text
    assert (found.extractor, found.device, found.truncated) == (baseline.name, "cpu", False)
    assert found.seconds > 0


def test_json_holds_what_the_library_gives(baseline: Baseline, answers: dict[str, Prediction]) -> None:
    found = answers["news"]
    if not baseline.gives:
        assert found.json is None
        return
    article = Article.from_json(found.json or "")
    assert article.body.lines() == [line.strip() for line in found.text.splitlines() if line.strip()]
    assert article.free_access is True
    found_keys = {
        "title": article.title,
        "authors": sorted(article.authors),
        "publishing_date": article.publishing_date and str(article.publishing_date.date()),
        "topics": article.topics,
    }
    on_the_page = {
        "title": TITLE,
        "authors": ["Ann Miller", "Tom Baker"],
        "publishing_date": "2024-03-05",
        "topics": ("bridges", "town council"),
    }
    missing = {"title": None, "authors": [], "publishing_date": None, "topics": ()}
    assert found_keys == {**missing, **{key: on_the_page[key] for key in baseline.gives}}


def test_dates_are_as_exact_as_the_library_says(baseline: Baseline, answers: dict[str, Prediction]) -> None:
    expected = {
        "trafilatura": "2024-03-05T00:00:00",
        "news-please": "2024-03-05T06:30:00",
        "newspaper4k": "2024-03-05T06:30:00+01:00",
    }
    json = answers["news"].json
    date = Article.from_json(json).publishing_date if json else None
    assert (date.isoformat() if date else None) == expected.get(baseline.name)


def test_stored_pages_give_text_or_a_reason(baseline: Baseline, answers: dict[str, Prediction]) -> None:
    too_short = {
        "justext": {"nordblick.html", "oldtown.html"},
        "news-please": {"nordblick.html"},
    }
    pages = ("nordblick.html", "oldtown.html")
    assert {name for name in pages if answers[name].error} == too_short.get(baseline.name, set())
    if not answers["oldtown.html"].error:
        assert "The council voted on Monday to keep the mill." in answers["oldtown.html"].text


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_is_a_text_or_a_failure(
    baseline: Baseline, answers: dict[str, Prediction], name: str
) -> None:
    found = answers[name]
    assert bool(found.error) != bool(found.text)
    assert (found.error or "").isprintable()
    assert found.json is None or bool(found.json) == bool(found.text)
    assert f"exit code {misbehaving_baselines().NETWORK_USED}" not in (found.error or "")
    if name in ("empty", "no text", "only closing tags"):
        assert found.error
    if name == "declared encoding":
        assert PARAGRAPHS[2] in found.text


def test_after_hostile_pages_all_is_as_before(answers: dict[str, Prediction]) -> None:
    assert (answers["news again"].text, answers["news again"].json) == (
        answers["news"].text,
        answers["news"].json,
    )
    assert Prediction.table(answers.values()).num_rows == len(answers)  # what goes to the store


def test_every_end_of_the_worker_is_recorded_in_order(misbehaving: ModuleType) -> None:
    expected = {
        "hang": "no answer within 1 s",
        "exit": "the worker process died with exit code 7",
        "segfault": "the worker process was ended by SIGSEGV",
        "hog": "needed more than 200 MiB",
        "hidden hog": "needed more than 200 MiB",
        "bug": "KeyError: 'nobody expected\\n\\ud800 this'",
        "refuse": "no article here",
        "blank": "found no text",
        "flood": "wrote 20,000,000 characters, more than 10,000,000",
    }
    *failed, fine = run(misbehaving.Moody(), [*expected, "fine"], timeout_s=1, memory_limit_mib=200)
    assert dict(zip(expected, (row.error for row in failed), strict=True)) == expected
    assert {row.text for row in failed} == {""}
    assert failed[0].seconds >= 1
    assert (fine.text, fine.json, fine.error) == ("fine https://gazette.example/bridge", None, None)


def test_failures_of_a_baseline_that_gives_more_than_text_have_empty_json(misbehaving: ModuleType) -> None:
    refusal, crash, fine = run(misbehaving.Structured(), ["refuse", "exit", "fine"])
    assert (refusal.json, crash.json) == ("", "")
    article = Article.from_json(fine.json or "")
    assert (article.title, article.authors, article.topics) == (None, ("Ann Miller",), ("\ufffd",))
    assert article.plaintext == fine.text


def test_lines_of_the_text_are_paragraphs_of_one_section() -> None:
    (section,) = Extraction(text=" One.\n\n \nTwo  words.\n").article().body.sections
    assert (section.headline, section.paragraphs) == ((), ("One.", "Two words."))


@pytest.mark.parametrize(
    ("zone", "kept"),
    [
        (None, "2024-03-05T06:30:00"),
        (tzoffset(None, -12_600), "2024-03-05T06:30:00-03:30"),
        (tzoffset(None, 99 * 3600), None),  # what dateutil reads "+9900" as
        (tzoffset(None, 3208), None),  # seconds, which ISO 8601 has no place for
    ],
)
def test_a_date_with_an_impossible_zone_is_absent(zone: tzoffset | None, kept: str | None) -> None:
    date = datetime(2024, 3, 5, 6, 30, tzinfo=zone)
    article = Extraction(text="One.", publishing_date=date).article()
    assert Article.from_json(article.to_json()) == article
    assert (article.publishing_date.isoformat() if article.publishing_date else None) == kept


def test_a_worker_that_hangs_does_not_outlive_a_killed_parent() -> None:
    script = (
        "from misbehaving_baselines import Moody; from test_baselines import page, run_baseline\n"
        "def pages():\n    print('hanging', flush=True)\n    yield page('hang')\n"
        "list(run_baseline(Moody(), pages(), timeout_s=1))"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": f"{ROOT}:{HERE}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert parent.stdout is not None
    with parent:
        assert parent.stdout.readline() == b"hanging\n"
        with pytest.raises(subprocess.TimeoutExpired):
            parent.wait(0.5)
        parent.kill()
        parent.communicate(timeout=20)  # the output ends with the last process that could write to it


def test_pages_are_taken_one_at_a_time(misbehaving: ModuleType) -> None:
    taken: list[str] = []

    def pages() -> Iterator[PageInput]:
        for number in range(3):
            taken.append(str(number))
            yield page("fine", page_id=str(number))

    predictions = run_baseline(misbehaving.Moody(), pages())
    next(predictions)
    assert taken == ["0"]
    predictions.close()


def test_a_missing_library_says_what_to_install(misbehaving: ModuleType) -> None:
    assert misbehaving.Absent().version is None
    with pytest.raises(RuntimeError, match=r"pip install -c constraints.txt '.\[baselines\]'"):
        run(misbehaving.Absent(), ["fine"])


@pytest.mark.parametrize("name", ["Unstartable", "Broken"])
def test_a_worker_that_cannot_start_is_an_error_and_not_a_column_of_failures(
    misbehaving: ModuleType, name: str
) -> None:
    with pytest.raises(RuntimeError, match=f"worker process of {name.lower()} did not start"):
        run(getattr(misbehaving, name)(), ["fine"])


def test_every_version_names_release_and_revision(baseline: Baseline) -> None:
    assert (baseline.version or "").endswith(f"-{baseline.revision}")
    assert baseline.gives <= set(Article.model_fields) - {"body"}


def test_naming_the_baselines_imports_none_of_their_libraries() -> None:
    packages = sorted(each.package for each in BASELINES.values())
    script = (
        f"import sys, ml.baselines.registry; print([each for each in {packages!r} if each in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, check=True)
    assert said.stdout == b"[]\n"
