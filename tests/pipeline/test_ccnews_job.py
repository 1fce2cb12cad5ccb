"""The whole job on real pages."""

import json
from pathlib import Path
from typing import Any

from newslm_command import newslm, store_of

from ml.records import CorpusRow, Score, Split
from ml.splits import PageSplit


def test_the_whole_job_on_real_pages(ccnews_server: Any, tmp_path: Path) -> None:
    answer = newslm(
        *("run", "--source", "ccnews", "--ccnews-server", ccnews_server.url, "--start", "2020-01-01"),
        *("--end", "2026-11-01", "--experiment", "tiny-plaintext", "--home", str(tmp_path), "--json"),
        *("--baseline", "trafilatura", "--baseline", "resiliparse"),
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
    assert rouge.keys() == {"trafilatura", "resiliparse", "tiny-plaintext"}
    assert rouge["trafilatura"] > 0.85
    pages = [page for page in store.rows("page_splits", PageSplit) if page.split == Split.TEST]
    assert len({page.publisher for page in pages}) == 10
    assert {row.page_id for row in store.rows("scores", Score)} == {page.page_id for page in pages}
