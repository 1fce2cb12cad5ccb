"""Files of extracted pages that grow row by row, are stopped, and go on where they were.

Belongs here: JSON lines, Parquet, a folder with a file an article. Does not belong here: columns
(`extraction_rows.py`) or extracting (`bulk.py`).
"""

import hashlib
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from more_itertools import chunked

from ml.article import Article
from ml.block_model.rendering import markdown
from ml.extraction_rows import ExtractionRow, Key

ROWS_PER_GROUP = 1_000
NOT_ARTICLES = "not-articles.jsonl"
"""In a folder of articles: every page that is none, or could not be read."""

Writing = Callable[[ExtractionRow], str]
WRITINGS: dict[str, Writing] = {
    "text": lambda row: f"{row.text}\n",
    "json": lambda row: f"{row.article}\n",
    "markdown": lambda row: markdown(Article.from_json(row.article or "")),
}
"""How an article is written to a file of its own, by format; `row` is of an article."""

SUFFIXES = {"text": ".txt", "json": ".json", "markdown": ".md"}


class Output(ABC):
    """Where rows go. What is there from a run before, stopped or finished, stays and is not written again."""

    @abstractmethod
    def has(self, key: Key) -> bool:
        """Whether the page is there already."""

    @abstractmethod
    def write(self, row: ExtractionRow) -> None:
        """Take a row; a process that is killed after it has not lost it."""

    @abstractmethod
    def close(self) -> None:
        """Everything was written, or no more will be for now."""

    def finish(self) -> None:
        """Everything was written."""
        self.close()


class JsonLines(Output):
    """A file of JSON lines; one that a kill cut in two is taken off when the file is opened again.

    Raises `ValueError` where the file holds anything else, or rows of another model.
    """

    def __init__(self, path: Path, model: str) -> None:
        self._known = {row.key for row in _whole_rows(path, model)} if path.exists() else set()
        self._file = path.open("a", encoding="utf-8")

    def has(self, key: Key) -> bool:
        return key in self._known

    def write(self, row: ExtractionRow) -> None:
        self._file.write(row.to_json() + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def _whole_rows(path: Path, model: str) -> Iterator[ExtractionRow]:
    end = 0
    for line in _lines(path):
        row = ExtractionRow.from_json(line)
        _require_model(path, row, model)
        end += len(line)
        yield row
    os.truncate(path, end)


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file that have an end."""
    with path.open("rb") as lines:
        yield from (line for line in lines if line.endswith(b"\n"))


def _require_model(path: Path, row: ExtractionRow, model: str) -> None:
    if row.model != model:
        raise ValueError(
            f"{path} holds rows of the model {row.model}, expected {model}: choose another output, or delete it"
        )


class Parquet(Output):
    """A Parquet file, which appears when it is whole; until then its rows lie beside it as JSON lines.

    Raises `ValueError` as `JsonLines` does.
    """

    def __init__(self, path: Path, model: str) -> None:
        self._path, self._part = path, path.with_name(f"{path.name}.part")
        self._before = {row.key for row in _parquet_rows(path, model)}
        self._lines = JsonLines(self._part, model)

    def has(self, key: Key) -> bool:
        return key in self._before or self._lines.has(key)

    def write(self, row: ExtractionRow) -> None:
        self._lines.write(row)

    def close(self) -> None:
        self._lines.close()

    def finish(self) -> None:
        """Also rows of an older, finished file stay in the new one, which takes its place at once."""
        self.close()
        whole = self._path.with_name(f".{self._path.name}.whole")
        new = (ExtractionRow.from_json(line) for line in _lines(self._part))
        with pq.ParquetWriter(whole, ExtractionRow.schema(), compression="zstd") as writer:
            for rows in chunked(chain(_parquet_rows(self._path), new), ROWS_PER_GROUP):
                writer.write_table(ExtractionRow.table(rows))
        whole.replace(self._path)
        self._part.unlink()


def _parquet_rows(path: Path, model: str | None = None) -> Iterator[ExtractionRow]:
    """The rows of a file, none where there is no file."""
    if not path.exists():
        return
    try:
        file = pq.ParquetFile(path)
    except pa.ArrowInvalid as error:
        raise ValueError(
            f"{path} is no Parquet file ({error}): choose another output, or delete it"
        ) from error
    if file.schema_arrow.names != ExtractionRow.schema().names:
        raise ValueError(
            f"{path} has the columns {', '.join(file.schema_arrow.names)}, expected those that `newslm extract` "
            f"writes: choose another output, or delete it"
        )
    for batch in file.iter_batches(ROWS_PER_GROUP):
        for row in ExtractionRow.rows(pa.Table.from_batches([batch])):
            if model:
                _require_model(path, row, model)
            yield row


class Folder(Output):
    """A folder with a file an article, named after its page, and `NOT_ARTICLES` for the rest."""

    def __init__(self, path: Path, writing: str, model: str) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self._path, self._writing = path, writing
        self._rest = JsonLines(path / NOT_ARTICLES, model)

    def has(self, key: Key) -> bool:
        return self._rest.has(key) or self._file(key).exists()

    def write(self, row: ExtractionRow) -> None:
        if not row.is_article:
            self._rest.write(row)
            return
        partial = self._path / ".partial"
        partial.write_text(WRITINGS[self._writing](row), encoding="utf-8")
        partial.replace(self._file(row.key))

    def close(self) -> None:
        self._rest.close()

    def _file(self, key: Key) -> Path:
        """The last part of the URL or file, with a hash: two pages never share a name, on any system."""
        file, url, _ = key
        place = urlsplit(url).path if url else file or ""
        words = re.sub(r"[^\w.-]+", "-", Path(place).name).strip("-.")[:60] or "page"
        digits = hashlib.sha256(repr(key).encode()).hexdigest()[:8]
        return self._path / f"{words}-{digits}{SUFFIXES[self._writing]}"
