"""The whole job, as a person starts it, on the demo newsroom and on real pages."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ml.article import SCHEMA_PATH
from ml.records import ArticleRow, CorpusRow, ModelRecord, RawPage, Reason, Score, Split
from ml.splits import PageSplit
from resources.demo.newsroom import articles
from resources.demo.server import NewsroomServer
from resources.demo.sites import SITES
from resources.fundus.catalogue import demo_catalogue
from resources.store import Store
from resources.tracking import Tracking

NEWSLM = str(Path(sys.executable).with_name("newslm"))


def newslm(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [NEWSLM, *arguments], capture_output=True, text=True, check=False, env={**os.environ, **variables}
    )


def store_of(home: Path) -> Store:
    return Store(uri=str(home / "store"))


class TestDemo:
    """One run on the demo newsroom, looked at from every side."""

    @pytest.fixture(scope="class")
    def home(self, tmp_path_factory: pytest.TempPathFactory) -> Path:
        return tmp_path_factory.mktemp("demo")

    @pytest.fixture(scope="class")
    def result(self, home: Path) -> Any:
        answer = newslm("run", "--home", str(home), "--json")
        assert answer.returncode == 0, answer.stderr
        return json.loads(answer.stdout)

    def test_everything_is_scored_and_nothing_failed(self, result: Any) -> None:
        assert result["failed"] == []
        extractors = {summary["extractor"] for summary in result["scores"]}
        assert extractors == {"trafilatura", "boilerpipe", "tiny-plaintext", "tiny-json"}
        rouge = {s["extractor"]: s["mean"] for s in result["scores"] if s["metric"] == "rouge_l"}
        assert rouge["trafilatura"] > 0.8
        assert rouge["boilerpipe"] > 0.8
        validity = [s for s in result["scores"] if s["metric"] == "json_validity"]
        assert [s["extractor"] for s in validity] == ["tiny-json"]

    def test_the_corpus_holds_what_the_editors_wrote(self, result: Any, home: Path) -> None:
        rows = list(store_of(home).rows("corpus", CorpusRow))
        kept = {row.url: row for row in rows if row.reason is None}
        written = {story.url: story.article for site in SITES for story in articles(site.key)}
        found = {url: row.json for url, row in kept.items() if url in written}
        assert len(found) > 280
        assert all(json.loads(found[url]) == json.loads(written[url].to_json()) for url in found)

    def test_every_row_is_kept_or_has_a_named_reason(self, result: Any, home: Path) -> None:
        rows = list(store_of(home).rows("corpus", CorpusRow))
        assert {row.reason for row in rows} - {None} <= set(Reason)
        assert all(row.detail for row in rows if row.reason)
        assert {Reason.EMPTY_PAGE, Reason.DUPLICATE_CONTENT} <= {row.reason for row in rows}

    def test_every_json_target_fulfils_the_published_schema(self, result: Any, home: Path) -> None:
        validator = jsonschema.Draft202012Validator(json.loads(SCHEMA_PATH.read_text()))
        for row in store_of(home).rows("corpus", CorpusRow):
            if row.reason is None:
                validator.validate(json.loads(row.json))
                assert len(row.roles) > 0
                assert row.target_coverage >= 0.9

    def test_who_objects_is_not_in_it(self, result: Any, home: Path) -> None:
        publishers = {row.publisher for row in store_of(home).rows("corpus", CorpusRow)}
        assert "NadiSamachar" not in publishers, "disallows training"
        assert "QuietValleyReview" not in publishers, "disallows crawling"
        assert len(publishers) == len(SITES) - 2

    def test_splits_hold_out_whole_families(self, result: Any, home: Path) -> None:
        pages = [page for page in store_of(home).rows("page_splits", PageSplit) if page.split]
        splits: dict[str, set[str]] = {}
        for page in pages:
            splits.setdefault(page.family, set()).add(page.split or "")
        assert all(len(found) == 1 for found in splits.values())
        assert Counter(page.split for page in pages).keys() == set(Split)
        assert demo_catalogue().family("HarbourGazette") == demo_catalogue().family("FenwickEcho")

    def test_models_are_registered_with_what_they_came_from(self, result: Any, home: Path) -> None:
        folder = home / "mlflow"
        tracking = Tracking(
            tracking_uri=f"sqlite:///{folder / 'mlflow.db'}", artifact_folder=str(folder / "artifacts")
        )
        versions = {version.name: version for version in tracking.versions()}
        assert versions.keys() == {"tiny-plaintext", "tiny-json"}
        for name, version in versions.items():
            (record,) = store_of(home).rows("models", ModelRecord, experiment=name)
            run = tracking.client().get_run(version.run_id)
            assert version.aliases == ("challenger",)
            assert version.tags["corpus_version"] == store_of(home).version("corpus")
            assert version.tags["fundus_version"]
            assert run.data.params["lora_rank"] == "16"
            artifacts = {f.path for f in tracking.client().list_artifacts(version.run_id, "adapter")}
            assert {"adapter/adapter_model.safetensors", "adapter/README.md"} <= artifacts
            curve = tracking.client().get_metric_history(version.run_id, "loss")
            assert curve[-1].value < curve[0].value
            reports = {f.path for f in tracking.client().list_artifacts(version.run_id, "report")}
            assert reports == {"report/report.html", "report/report.md"}
            assert Path(record.adapter_dir, "adapter_model.safetensors").is_file()

    def test_the_report_is_one_page_that_needs_nothing_else(self, result: Any) -> None:
        html = Path(result["report"]).read_text()
        assert "<script" not in html
        assert "src=" not in html.replace('src="data:', "")
        assert "tiny-plaintext" in html

    def test_models_and_report_can_be_asked_for(self, result: Any, home: Path) -> None:
        models = json.loads(newslm("models", "list", "--home", str(home), "--json").stdout)
        assert {model["name"] for model in models} == {"tiny-plaintext", "tiny-json"}
        report = json.loads(newslm("report", "--home", str(home), "--json").stdout)
        assert report["scores"] == result["scores"]

    def test_running_again_repeats_nothing(self, result: Any, home: Path) -> None:
        before = {
            path: path.stat().st_mtime_ns
            for path in Path(home, "store").rglob("*.parquet")
            if "scores" not in str(path)
        }
        started = time.monotonic()
        again = newslm("run", "--home", str(home), "--json")
        assert again.returncode == 0, again.stderr
        assert json.loads(again.stdout)["scores"] == result["scores"]
        after = {path: path.stat().st_mtime_ns for path in before if path.exists()}
        assert after == before, "no page was fetched, no page predicted, no file written anew"
        models = json.loads(newslm("models", "list", "--home", str(home), "--json").stdout)
        assert {model["version"] for model in models} == {"1"}, "the same adapter is not registered twice"
        assert time.monotonic() - started < sum(result["seconds"].values()) + 60


def test_the_whole_job_on_real_pages(ccnews_server: Any, tmp_path: Path) -> None:
    answer = newslm(
        *("run", "--source", "ccnews", "--ccnews-server", ccnews_server.url, "--start", "2020-01-01"),
        *("--end", "2026-11-01", "--experiment", "tiny-plaintext", "--home", str(tmp_path), "--json"),
    )
    assert answer.returncode == 0, answer.stderr
    result = json.loads(answer.stdout)
    store = store_of(tmp_path)
    rows = list(store.rows("corpus", CorpusRow))
    kept = [row for row in rows if row.reason is None]
    assert len(rows) == 218
    assert len(kept) > 200
    assert len({row.publisher for row in kept}) > 100
    assert sum(row.target_coverage for row in kept) / len(kept) > 0.99
    rouge = {s["extractor"]: s["mean"] for s in result["scores"] if s["metric"] == "rouge_l"}
    assert rouge["trafilatura"] > 0.85
    assert "tiny-plaintext" in rouge
    pages = [page for page in store.rows("page_splits", PageSplit) if page.split == Split.TEST]
    assert len({page.publisher for page in pages}) == 10
    assert {row.page_id for row in store.rows("scores", Score)} == {page.page_id for page in pages}


class TestKilled:
    """`kill -9` loses at most what was in memory, and the next run goes on."""

    @pytest.fixture
    def newsroom(self) -> Iterator[NewsroomServer]:
        with NewsroomServer() as server:
            yield server

    def run_and_kill(
        self, home: Path, newsroom: NewsroomServer, when: Callable[[], bool], **variables: str
    ) -> None:
        process = subprocess.Popen(
            [NEWSLM, "run", "--home", str(home), "--experiment", "none", "--publishers", self.publishers],
            env={**os.environ, "NEWSLM_DEMO_PROXY": newsroom.proxy_url, **variables},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 60
        while not when():
            assert process.poll() is None, "the run ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()

    publishers = "PhareLibre,GlosDoliny,ShiomiShimpo,CorreoDelValle"

    def finish(self, home: Path, newsroom: NewsroomServer) -> None:
        answer = newslm(
            *("run", "--home", str(home), "--experiment", "none", "--publishers", self.publishers),
            NEWSLM_DEMO_PROXY=newsroom.proxy_url,
        )
        assert answer.returncode == 0, answer.stderr

    def stored(self, home: Path) -> Counter[str]:
        store = store_of(home)
        keys = store.partitions("raw_pages", "publisher")
        return Counter(
            p.url for key in keys for p in store.appended_rows("raw_pages", RawPage, publisher=key)
        )

    def test_a_killed_crawl_goes_on_without_asking_twice_for_what_is_stored(
        self, newsroom: NewsroomServer, tmp_path: Path
    ) -> None:
        stories = {story.url for key in self.publishers.split(",") for story in articles(key)}

        def asked() -> int:
            return sum(count for url, count in newsroom.requests.items() if url in stories)

        self.run_and_kill(tmp_path, newsroom, lambda: asked() >= 12)
        before, asked_before = self.stored(tmp_path), Counter(newsroom.requests)
        self.finish(tmp_path, newsroom)
        after = self.stored(tmp_path)
        assert set(after) >= stories
        assert max(after.values()) == 1, "nothing is stored twice"
        assert set(before) <= set(after), "nothing that was stored is lost"
        again = {url for url in stories if newsroom.requests[url] > asked_before[url]}
        assert not again & set(before), "what was stored is not asked for again"
        assert again == stories - set(before)

    def test_a_killed_extraction_is_done_anew(self, newsroom: NewsroomServer, tmp_path: Path) -> None:
        first = self.publishers.split(",")[0]
        written = tmp_path / "store" / "articles"
        self.run_and_kill(
            tmp_path, newsroom, lambda: written.exists() or bool(self.stored_of(tmp_path, first))
        )
        requests = Counter(newsroom.requests)
        self.finish(tmp_path, newsroom)
        store = store_of(tmp_path)
        for key in self.publishers.split(","):
            rows = [row.page_id for row in store.rows("articles", ArticleRow, publisher=key)]
            pages = {page.page_id for page in store.appended_rows("raw_pages", RawPage, publisher=key)}
            assert sorted(rows) == sorted(pages)
        first_stories = {story.url for story in articles(first)}
        assert all(newsroom.requests[url] == requests[url] for url in first_stories), (
            "extracting never crawls"
        )

    def stored_of(self, home: Path, key: str) -> list[Path]:
        return list(Path(home, "store", "raw_pages", f"publisher={key}").glob("*.parquet"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--publishers", "Morgenblat"], "unknown publisher 'Morgenblat'"),
        (["--experiment", "huge"], "unknown experiment huge"),
        (["--source", "ccnews"], "--start"),
        (["--source", "archive", "--archive", "nowhere.warc.gz", "--experiment", "none"], "nowhere.warc.gz"),
    ],
)
def test_a_wrong_setting_ends_the_run_with_what_to_do(
    tmp_path: Path, arguments: list[str], words: str
) -> None:
    answer = newslm("run", "--home", str(tmp_path), *arguments)
    assert answer.returncode == 1
    assert words in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_home_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    answer = newslm("run", "--home", str(tmp_path / "file" / "home"))
    assert answer.returncode == 1
    assert "cannot be written" in answer.stderr
