"""Baselines get raw HTML, and no page can stop the run."""

import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

import pytest

from ml.baselines.base import Baseline, PageInput, run_baseline
from ml.baselines.registry import BASELINES
from ml.records import Prediction

PARAGRAPHS = [
    "The town council voted on Monday evening to rebuild the old bridge over the river, closed since March.",
    "Work will start in autumn, said the mayor, and the first carts should cross before the winter comes.",
    "The bridge was built in 1911; three engineers examined it in spring and found cracks in both arches.",
]
NEWS = (
    "<html><head><title>Bridge</title><script>var menu = 'not text';</script></head><body>"
    "<nav><a href='/a'>Home</a> <a href='/b'>Sport</a> <a href='/c'>Weather</a></nav><article><h1>Bridge</h1>"
    + "".join(f"<p>{text}</p>" for text in PARAGRAPHS)
    + "</article><footer><a href='/i'>Imprint</a></footer></body></html>"
)


def page(html: str, page_id: str = "p") -> PageInput:
    return PageInput(
        page_id=page_id, url="https://gazette.example/bridge", publisher="Gazette", language="en", html=html
    )


def run(baseline: Baseline, htmls: Sequence[str], *, timeout_s: float = 60) -> list[Prediction]:
    pages = [page(html, page_id=str(number)) for number, html in enumerate(htmls)]
    return list(run_baseline(baseline, pages, timeout_s=timeout_s))


@pytest.fixture
def misbehaving(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The failing baselines, importable here and in the worker, which inherits the path."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    return importlib.import_module("misbehaving_baselines")


@pytest.mark.parametrize("name", ["trafilatura", "boilerpipe"])
def test_a_clean_page_gives_its_paragraphs(name: str) -> None:
    (found,) = run(BASELINES[name], [NEWS])
    assert all(text in found.text for text in PARAGRAPHS)
    assert "not text" not in found.text
    assert (found.extractor, found.json, found.error) == (name, None, None)
    assert found.seconds > 0


@pytest.mark.parametrize("name", ["trafilatura", "boilerpipe"])
def test_hostile_pages_are_failures_and_the_rest_goes_on(name: str) -> None:
    hostile = ["", "\x00\x01\x02", "<html></html>", "</a></a></p></div>", "\ud800", "<" * 1000, "{}"]
    *failed, last = run(BASELINES[name], [*hostile, NEWS])
    assert [row.page_id for row in failed] == [str(number) for number in range(len(hostile))]
    assert all(bool(row.error) != bool(row.text) for row in failed)
    assert PARAGRAPHS[0] in last.text


def test_hang_crash_bug_and_refusal_are_recorded_in_order(misbehaving: ModuleType) -> None:
    hang, crash, bug, refusal, fine = run(
        misbehaving.Moody(), ["hang", "crash", "bug", "refuse", "fine"], timeout_s=1.0
    )
    assert hang.error == "no answer within 1 s"
    assert hang.seconds >= 1
    assert crash.error == "the worker process died with exit code 7"
    assert bug.error == "the worker process died with exit code 1"
    assert refusal.error == "no article here"
    assert [row.text for row in (hang, crash, bug, refusal)] == [""] * 4
    assert (fine.text, fine.error) == ("fine https://gazette.example/bridge", None)


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
    with pytest.raises(RuntimeError, match=r"pip install -c constraints.txt '.\[baselines\]'"):
        run(misbehaving.Absent(), ["fine"])


def test_a_worker_that_cannot_start_is_an_error_and_not_a_column_of_failures(misbehaving: ModuleType) -> None:
    with pytest.raises(RuntimeError, match="worker process of unstartable did not start"):
        run(misbehaving.Unstartable(), ["fine"])
