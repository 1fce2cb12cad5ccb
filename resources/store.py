"""The one store: Parquet datasets under a URI, a folder by default, `s3://…` in production.

Belongs here: where a dataset lies, and how it is written so that a reader never sees half of it and a
killed writer loses at most what it had in memory. Does not belong here: what the rows mean
(`ml/records.py`) or how they are computed (`ml/`).
"""

import fcntl
import hashlib
import io
import json
import time
import typing
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import dagster as dg
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
from more_itertools import chunked
from upath import UPath

from ml.records import Record

R = TypeVar("R", bound=Record)

MANIFEST = "manifest.json"
ROWS_PER_FILE = 5_000
GARBAGE_AGE_S = 3_600.0


def content_version(tables: Iterable[pa.Table], *, ignore: Iterable[str] = ()) -> str:
    """A hash of the values in `tables`, whatever the chunking: equal content, equal version.

    `ignore` names the columns that only record provenance (such as a library's version), so that work
    that comes out the same also counts as the same.
    """
    ignored = set(ignore)
    digest = hashlib.sha256()
    for table in tables:
        kept = table.select([name for name in table.column_names if name not in ignored])
        for batch in kept.to_batches(max_chunksize=64):
            for row in batch.to_pylist():
                digest.update(json.dumps(row, sort_keys=True, default=str).encode())
    return digest.hexdigest()[:16]


class Store(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Parquet datasets below `uri`, hive-partitioned and zstd-compressed.

    Two kinds of dataset live here. *Appended* ones (`append`) only ever gain files. *Replaced* ones
    (`replace`) are written to new content-addressed files, then a manifest is switched to them.
    """

    uri: str

    @property
    def root(self) -> UPath:
        """The folder or bucket prefix that holds every dataset."""
        return UPath(self.uri)

    def folder(self, dataset: str, **partition: str) -> UPath:
        """Where a dataset, or one partition of it, lies: `dataset/key=value/…`."""
        return self.root.joinpath(dataset, *(f"{key}={value}" for key, value in partition.items()))

    @contextmanager
    def lock(self, dataset: str, **partition: str) -> Iterator[None]:
        """Hold a dataset, or one partition of it, for this process; others wait.

        For what reads before it writes. The system lets go when the process dies. Only folders have such a
        lock: on an object store, the deployment runs one writer of a dataset at a time (Dagster's pools).
        """
        folder = self.root / ".locks"
        if not _is_local(folder):
            yield
            return
        Path(folder.path).mkdir(parents=True, exist_ok=True)
        name = "-".join((dataset, *partition.values()))
        with Path(folder.path, f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    # --- appended datasets

    def append(self, dataset: str, rows: Sequence[Record], **partition: str) -> UPath | None:
        """Add one file of rows; the same rows again make the same file, so a retry doubles nothing."""
        if not rows:
            return None
        table = type(rows[0]).table(rows)
        path = self.folder(dataset, **partition) / f"{content_version([table])}.parquet"
        if not path.exists():
            _write_atomically(path, _parquet_bytes(table))
        return path

    def appended(
        self, dataset: str, record: type[R], *, columns: Sequence[str], **partition: str
    ) -> pa.Table:
        """Chosen columns of every appended row; the order of files means nothing, so sort what you read."""
        files = self._files(dataset, **partition)
        return self._read(files, record, columns)

    def appended_rows(self, dataset: str, record: type[R], **partition: str) -> Iterator[R]:
        """Every appended row as a record, one file in memory at a time."""
        for path in self._files(dataset, **partition):
            yield from record.rows(self._read([path], record, None))

    # --- replaced datasets

    def replace(self, dataset: str, record: type[R], rows: Iterable[R], **partition: str) -> str:
        """Put `rows` in place of what the dataset held; returns the content version.

        Files are written first and the manifest is switched last, so that a reader sees the old rows or
        the new ones. Superseded files stay for an hour, for readers and writers that still hold them.
        """
        folder = self.folder(dataset, **partition)
        names, versions = [], []
        for table in _tables(record, rows):
            name = f"{content_version([table])}.parquet"
            # Written even if it is there: its age then says that it is wanted, see `_collect_garbage`.
            _write_atomically(folder / name, _parquet_bytes(table))
            names.append(name)
            versions.append(content_version([table], ignore=record.PROVENANCE))
        version = hashlib.sha256("".join(versions).encode()).hexdigest()[:16]
        manifest = {"version": version, "record": record.__name__, "files": names}
        _write_atomically(folder / MANIFEST, json.dumps(manifest, indent=2).encode())
        self._collect_garbage(folder)
        return version

    def table(
        self, dataset: str, record: type[R], *, columns: Sequence[str] | None = None, **partition: str
    ) -> pa.Table:
        """The current rows of a replaced dataset; raises `RuntimeError` where it was never written."""
        return self._read(self._current_files(dataset, **partition), record, columns)

    def rows(self, dataset: str, record: type[R], **partition: str) -> Iterator[R]:
        """The current rows of a replaced dataset as records, one file in memory at a time.

        Raises `RuntimeError` where it was never written.
        """
        for path in self._current_files(dataset, **partition):
            yield from record.rows(self._read([path], record, None))

    def version(self, dataset: str, **partition: str) -> str | None:
        """The content version of a replaced dataset, or None where it was never written."""
        manifest = self._manifest(self.folder(dataset, **partition))
        return str(manifest["version"]) if manifest else None

    def partitions(self, dataset: str, key: str) -> list[str]:
        """The values of a partition key that exist below a dataset, sorted."""
        folder = self.folder(dataset)
        if not folder.exists():
            return []
        prefix = f"{key}="
        names = (path.name for path in folder.iterdir())
        return sorted(name.removeprefix(prefix) for name in names if name.startswith(prefix))

    def arrow_dataset(self, dataset: str) -> pads.Dataset:
        """The files of an unpartitioned replaced dataset, for DuckDB to query without loading them."""
        files = self._current_files(dataset)
        return pads.dataset([path.path for path in files], filesystem=self.root.fs, format="parquet")

    def _current_files(self, dataset: str, **partition: str) -> list[UPath]:
        folder = self.folder(dataset, **partition)
        manifest = self._manifest(folder)
        if manifest is None:
            raise RuntimeError(
                f"the dataset {dataset!r} {partition or ''} is not in the store at {self.uri}; "
                f"materialise the asset that writes it first (`newslm run`, or the Dagster UI)"
            )
        return [folder / name for name in manifest["files"]]

    # --- plain files

    def write_bytes(self, relative: str, data: bytes) -> UPath:
        """Write one file (a report, a marker) so that it appears whole or not at all."""
        path = self.root.joinpath(*relative.split("/"))
        _write_atomically(path, data)
        return path

    # --- inside

    def _files(self, dataset: str, **partition: str) -> list[UPath]:
        folder = self.folder(dataset, **partition)
        return sorted(folder.glob("*.parquet"), key=lambda path: path.name) if folder.exists() else []

    @staticmethod
    def _manifest(folder: UPath) -> dict[str, typing.Any] | None:
        path = folder / MANIFEST
        return json.loads(path.read_bytes()) if path.exists() else None

    @staticmethod
    def _read(files: Sequence[UPath], record: type[Record], columns: Sequence[str] | None) -> pa.Table:
        schema = record.schema()
        wanted = pa.schema([schema.field(name) for name in columns]) if columns else schema
        tables = [_read_file(path, wanted) for path in files]
        return pa.concat_tables(tables) if tables else wanted.empty_table()

    def _collect_garbage(self, folder: UPath) -> None:
        """Remove files that no manifest names, and halves of killed writes, once nobody can be using them."""
        manifest = self._manifest(folder)
        wanted = {MANIFEST, *(manifest["files"] if manifest else ())}
        for path in folder.iterdir():
            if path.name not in wanted and path.is_file() and _age_s(path) > GARBAGE_AGE_S:
                path.unlink(missing_ok=True)


def _tables(record: type[R], rows: Iterable[R]) -> Iterator[pa.Table]:
    """Tables of at most `ROWS_PER_FILE` rows; one empty table where there are no rows."""
    chunks = chunked(rows, ROWS_PER_FILE)
    yield record.table(next(chunks, []))
    yield from map(record.table, chunks)


def _read_file(path: UPath, wanted: pa.Schema) -> pa.Table:
    """The wanted columns of a file; a nullable one that was declared after the file was written is null."""
    with path.open("rb") as file:
        parquet = pq.ParquetFile(file)
        stored = set(parquet.schema_arrow.names)
        if lost := [field.name for field in wanted if field.name not in stored and not field.nullable]:
            raise RuntimeError(
                f"{path} has no {', '.join(lost)}: it was written before the record had it. Declare the field as "
                f"`| None`, or write the dataset anew"
            )
        table = parquet.read([name for name in wanted.names if name in stored])
    for field in wanted:
        if field.name not in stored:
            table = table.append_column(field, pa.nulls(table.num_rows, field.type))
    return table.select(wanted.names).cast(wanted)


def _is_local(path: UPath) -> bool:
    return path.protocol in ("", "file")


def _age_s(path: UPath) -> float:
    """Seconds since a file was written; an object store without times keeps its files."""
    written = getattr(path.stat(), "st_mtime", None)
    return time.time() - written if written else 0.0


def _parquet_bytes(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def _write_atomically(path: UPath, data: bytes) -> None:
    """Write a file that appears whole or not at all: object stores do so by nature, folders by rename."""
    if not _is_local(path):
        path.write_bytes(data)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.partial")
    partial.write_bytes(data)
    Path(partial.path).replace(path.path)
