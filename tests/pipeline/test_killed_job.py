"""`kill -9` loses at most what was in memory; wrong settings end a run with what to do."""

import fcntl
import json
import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import dagster as dg
import pytest
from newslm_command import NEWSLM, newslm, store_of

from ml.records import ArticleRow, ModelRecord, RawPage
from resources.demo.newsroom import articles
from resources.demo.server import NewsroomServer


class TestKilled:
    """`kill -9` loses at most what was in memory, and the next run goes on."""

    @pytest.fixture
    def newsroom(self) -> Iterator[NewsroomServer]:
        with NewsroomServer() as server:
            yield server

    def run_and_kill(
        self, home: Path, newsroom: NewsroomServer, when: Callable[[], bool], *, training: str = "none"
    ) -> None:
        process = subprocess.Popen(
            [NEWSLM, *self.command(home, training)],
            env={**os.environ, "NEWSLM_DEMO_PROXY": newsroom.proxy_url},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 120
        while not when():
            assert process.poll() is None, "the run ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()

    publishers = "PhareLibre,GlosDoliny,ShiomiShimpo,CorreoDelValle"

    def command(self, home: Path, training: str) -> list[str]:
        what = ["--publishers", self.publishers, "--experiment", training, "--baseline", "trafilatura"]
        return ["run", "--home", str(home), *what]

    def finish(self, home: Path, newsroom: NewsroomServer, *, training: str = "none") -> None:
        answer = newslm(
            *self.command(home, training),
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

        self.run_and_kill(tmp_path, newsroom, lambda: asked() >= 35)
        before, asked_before = self.stored(tmp_path), Counter(newsroom.requests)
        self.finish(tmp_path, newsroom)
        after = self.stored(tmp_path)
        assert len(before) >= 25, "the first publisher was through when the run was killed"
        assert set(before) < stories
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

    def test_a_killed_training_goes_on_and_leaves_no_process_behind(
        self, newsroom: NewsroomServer, tmp_path: Path
    ) -> None:
        checkpoints = tmp_path / "training" / "runs"
        self.run_and_kill(
            tmp_path,
            newsroom,
            lambda: bool(list(checkpoints.glob("*/checkpoints/checkpoint-*"))),
            training="tiny-json",
        )
        before = {path.name for path in checkpoints.glob("*/checkpoints/checkpoint-*")}
        self.finish(tmp_path, newsroom, training="tiny-json")
        (run,) = checkpoints.iterdir()
        result = json.loads((run / "result.json").read_text())
        first, second = self.logged_steps(tmp_path)
        assert before
        assert min(second) > 10, "the second run went on from a checkpoint"
        assert set(first) | set(second) >= {entry["step"] for entry in result["history"]}
        (record,) = store_of(tmp_path).rows("models", ModelRecord, experiment="tiny-json")
        assert record.model_version == "1"
        with (run / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def logged_steps(self, home: Path) -> list[list[int]]:
        """The training steps that each run told Dagster of, oldest run first."""
        with dg.DagsterInstance.from_config(str(home / "dagster")) as instance:
            runs = instance.get_runs(dg.RunsFilter(job_name="train_model"))
            messages = [
                [entry.user_message for entry in instance.all_logs(run.run_id)] for run in reversed(runs)
            ]
        return [[int(step) for text in run for step in re.findall(r"^step (\d+)", text)] for run in messages]

    def stored_of(self, home: Path, key: str) -> list[Path]:
        return list(Path(home, "store", "raw_pages", f"publisher={key}").glob("*.parquet"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--publishers", "Morgenblat"], "unknown publisher 'Morgenblat'"),
        (["--experiment", "huge"], "unknown experiment huge"),
        (["--baseline", "charm"], "unknown baseline charm"),
        (["--zero-shot", "oracle"], "unknown language model oracle"),
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
    assert "Stack Trace" not in answer.stderr


def test_a_home_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    answer = newslm("run", "--home", str(tmp_path / "file" / "home"))
    assert answer.returncode == 1
    assert "cannot be written" in answer.stderr
