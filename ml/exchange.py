"""The corpus as a Hugging Face dataset folder, out and in.

Belongs here: the columns of the published `fundus-cleaned-filtered-62K`, its dataset card, and reading such
a folder, ours or a local copy of the published one. Does not belong here: filters (`ml/corpus.py`; imported
rows pass through them like crawled ones) or uploading.
"""

import ast
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from hashlib import sha256
from pathlib import Path
from typing import cast

import jinja2
import pyarrow as pa
import pyarrow.parquet as pq
from more_itertools import chunked

from ml.article import Article, Section, normalise_text
from ml.extraction import article_row, page_id_of
from ml.records import ArticleRow, CorpusRow, RawPage, Reason

COLUMNS = ("html", "plaintext", "json", "url", "publisher", "language")
"""The published columns, in their order; `html` is the cleaned page, not the page as received."""

CARD_TEMPLATE = Path(__file__).parent / "exchange_card.md.jinja"
ROWS_PER_SHARD = 5_000
ROWS_PER_BATCH = 64
UNKNOWN = "unknown"
"""What an imported row says of the versions it was made with: the columns do not tell."""

_SHOWN = 80  # characters of a faulty value in a message

_SCHEMA = pa.schema([(name, pa.string()) for name in COLUMNS])
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


# --- export


@dataclass(frozen=True, kw_only=True)
class CardFacts:
    """What the dataset card says and the rows do not."""

    name: str
    corpus_version: str
    fundus_version: str
    made_on: date


@dataclass(frozen=True, kw_only=True)
class Exported:
    """What an export wrote, and how many rejected rows it left out, by reason."""

    rows: int
    left_out: Mapping[str, int]
    languages: Mapping[str, int]  # "unknown" where the row has none
    publishers: Mapping[str, int]
    shards: int


def export_dataset(rows: Iterable[CorpusRow], directory: Path, *, facts: CardFacts) -> Exported:
    """Write the kept rows as Parquet shards with a card; `datasets.load_dataset(directory)` reads it.

    The folder appears whole or not at all. Raises `FileExistsError` where `directory` holds anything, and
    `ValueError` where there is no kept row to write.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise FileExistsError(f"{directory} is not an empty folder; name a new one for the dataset")
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{directory.name}-", dir=directory.parent) as partial:
        folder = Path(partial) / "dataset"
        exported = _write_shards(rows, folder / "data")
        (folder / "README.md").write_text(dataset_card(exported, facts), encoding="utf-8")
        folder.replace(directory)
    return exported


def _write_shards(rows: Iterable[CorpusRow], folder: Path) -> Exported:
    folder.mkdir(parents=True)
    left_out: Counter[str] = Counter()
    languages: Counter[str] = Counter()
    publishers: Counter[str] = Counter()
    shards = 0
    for chunk in chunked(_kept(rows, left_out), ROWS_PER_SHARD):
        languages.update(row.language or UNKNOWN for row in chunk)
        publishers.update(row.publisher for row in chunk)
        pq.write_table(_exchange_table(chunk), folder / f"train-{shards:05}.parquet", compression="zstd")
        shards += 1
    if not shards:
        raise ValueError(
            f"found no kept row to export, only rejected ones: {dict(left_out) or 'none at all'}"
        )
    return Exported(
        rows=publishers.total(), left_out=left_out, languages=languages, publishers=publishers, shards=shards
    )


def _kept(rows: Iterable[CorpusRow], left_out: Counter[str]) -> Iterator[CorpusRow]:
    for row in rows:
        if row.reason is None:
            yield row
        else:
            left_out[row.reason] += 1


def _exchange_table(rows: Sequence[CorpusRow]) -> pa.Table:
    columns = {
        "html": [row.compact for row in rows],
        "plaintext": [row.plaintext for row in rows],
        "json": [row.json for row in rows],
        "url": [row.url for row in rows],
        "publisher": [row.publisher for row in rows],
        "language": [row.language for row in rows],
    }
    return pa.table(columns, schema=_SCHEMA)


def dataset_card(exported: Exported, facts: CardFacts) -> str:
    """The README.md of an exported folder: YAML front matter for the hub, then words for people."""
    # Markdown, not HTML, so nothing is escaped but what would break a table or the YAML.
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True, autoescape=False)
    environment.filters["quoted"] = lambda text: json.dumps(text, ensure_ascii=False)
    environment.filters["cell"] = lambda text: normalise_text(text).replace("|", r"\|")
    template = environment.from_string(CARD_TEMPLATE.read_text(encoding="utf-8"))
    size = next((name for limit, name in _SIZES if exported.rows < limit), "n>1M")
    codes = sorted(exported.languages.keys() - {UNKNOWN})
    return template.render(exported=exported, facts=facts, size=size, codes=codes, columns=COLUMNS)


# --- import


def import_dataset(
    source: Path, *, families: Mapping[str, str] | None = None, imported_at: datetime | None = None
) -> Iterator[ArticleRow]:
    """The rows of a dataset folder or file (Parquet, Arrow, JSONL; every split of it), in file order.

    Each becomes an article row as a crawled page does: its `html` is parsed, so that roles are those of the
    cleaned page's blocks, and its `json` is read by `read_article`, which gives the plaintext too. A row that
    cannot be read comes out with a reason and a detail. `families` says which publishers share a template;
    one that it does not name is a family of its own. The crawl date is not among the columns: it is
    `imported_at`, by default now. Raises `ValueError` at once where there is no such file or a column is
    missing.
    """
    files = dataset_files(source)
    for path in files:
        _require_columns(path)
    return _article_rows(files, families or {}, imported_at or datetime.now(UTC))


def dataset_files(source: Path) -> list[Path]:
    """The data files at or below `source`, without the caches that `datasets` leaves beside them."""
    paths = [source] if source.is_file() else source.rglob("*")
    files = sorted(
        path
        for path in paths
        if path.suffix in FORMATS and path.is_file() and not path.name.startswith(("cache-", "."))
    )
    kinds = sorted({path.suffix for path in files})
    if len(kinds) != 1:
        raise ValueError(
            f"{source} holds {' and '.join(kinds) or 'no data'} files; expected files of one kind, one of "
            f"{', '.join(FORMATS)}. Download the dataset first and name its folder, or one of its files"
        )
    return files


def html_column(source: Path) -> Iterator[str]:
    """The `html` of every row, in the order in which `import_dataset` reads them."""
    for path in dataset_files(source):
        for row in FORMATS[path.suffix].rows(path):
            yield _text(row.get("html"))


Row = Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class _Format:
    """How one kind of file is read: its column names, and its rows one by one."""

    columns: Callable[[Path], Sequence[str]]
    rows: Callable[[Path], Iterator[Row]]


def _parquet_rows(path: Path) -> Iterator[Row]:
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=ROWS_PER_BATCH, columns=list(COLUMNS)):
            yield from batch.to_pylist()


def _arrow_rows(path: Path) -> Iterator[Row]:
    with pa.memory_map(str(path)) as source:
        for batch in _arrow_batches(source):
            for start in range(0, batch.num_rows, ROWS_PER_BATCH):
                yield from batch.select(list(COLUMNS)).slice(start, ROWS_PER_BATCH).to_pylist()


def _arrow_columns(path: Path) -> Sequence[str]:
    with pa.memory_map(str(path)) as source:
        return cast(Sequence[str], _arrow_reader(source).schema.names)


def _arrow_batches(source: pa.MemoryMappedFile) -> Iterator[pa.RecordBatch]:
    reader = _arrow_reader(source)
    if isinstance(reader, pa.RecordBatchFileReader):
        return (reader.get_batch(index) for index in range(reader.num_record_batches))
    return iter(reader)


def _arrow_reader(source: pa.MemoryMappedFile) -> pa.RecordBatchStreamReader | pa.RecordBatchFileReader:
    """`datasets` saves Arrow streams; other tools save Arrow files."""
    try:
        return pa.ipc.open_stream(source)
    except pa.ArrowInvalid:
        return pa.ipc.open_file(source)


def _jsonl_rows(path: Path) -> Iterator[Row]:
    """One row a line; a line that is no JSON object is a row without a value, which is then rejected."""
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.strip():
                yield _json_object(line)


def _json_object(line: str) -> Row:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _jsonl_columns(path: Path) -> Sequence[str]:
    return list(next(_jsonl_rows(path), {}))


FORMATS: Mapping[str, _Format] = {
    ".parquet": _Format(columns=lambda path: pq.read_schema(path).names, rows=_parquet_rows),
    ".arrow": _Format(columns=_arrow_columns, rows=_arrow_rows),
    ".jsonl": _Format(columns=_jsonl_columns, rows=_jsonl_rows),
}


def _require_columns(path: Path) -> None:
    try:
        found = FORMATS[path.suffix].columns(path)
    except pa.ArrowInvalid as error:
        raise ValueError(
            f"{path} is not a readable {path.suffix} file: {error}; download it again"
        ) from error
    if missing := [name for name in COLUMNS if name not in found]:
        raise ValueError(
            f"{path} lacks the columns {', '.join(missing)}: found {', '.join(found) or 'none'}, "
            f"expected {', '.join(COLUMNS)}; rename its columns to these"
        )


def _article_rows(
    files: Iterable[Path], families: Mapping[str, str], imported_at: datetime
) -> Iterator[ArticleRow]:
    for path in files:
        for number, row in enumerate(FORMATS[path.suffix].rows(path), start=1):
            yield _article_row(row, f"{path.name}, row {number}", families, imported_at)


def _article_row(row: Row, place: str, families: Mapping[str, str], imported_at: datetime) -> ArticleRow:
    html, url, publisher, language = (_text(row.get(key)) for key in ("html", "url", "publisher", "language"))
    article, faults = (
        None,
        [f"no {name}" for name, value in (("url", url), ("publisher", publisher)) if not value],
    )
    try:
        article = read_article(row.get("json"))
    except ValueError as error:
        faults.append(str(error))
    raw = RawPage(
        page_id=page_id_of(url or place),
        url=url,
        final_url=url,
        publisher=publisher,
        crawl_date=imported_at,
        source="archive",
        origin=place,
        fundus_version=UNKNOWN,
        html=html,
        html_sha256=sha256(html.encode()).hexdigest(),
    )
    return article_row(
        raw,
        None if faults else article,
        family=families.get(publisher, publisher),
        rules_version=UNKNOWN,
        reason=Reason.EXTRACTION_FAILED if faults else None,
        detail=f"{place}: {'; '.join(faults)}" if faults else None,
        language=language or None,
    )


def _text(value: object) -> str:
    """A column's text, "" where it holds none; half a surrogate pair, which no file can hold, as U+FFFD."""
    if not isinstance(value, str):
        return ""
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def read_article(value: object) -> Article:
    """The article in a `json` column: canonical JSON, a Python dict's repr, or the dict itself.

    The published set was made of `Article.to_json()` of Fundus, a dict, which `datasets` stores as an Arrow
    struct and the paper's code prints with `str`: hence the other two. Keys that an `Article` does not have
    (Fundus' publisher-specific attributes) are left aside, and blank lines dropped, as when we extract.
    Raises `ValueError` with what was found where the value is none of these.
    """
    fields = _parsed(value) if isinstance(value, str) else value
    if not isinstance(fields, Mapping):
        raise ValueError(f"json: found {_shown(value)}, expected a JSON object or a Python dict")
    known = {key: fields[key] for key in Article.model_fields if fields.get(key) is not None}
    known["body"] = _body(known.get("body", {}))
    return Article.model_validate({key: _without_blanks(field) for key, field in known.items()})


def _parsed(text: str) -> object:
    """The value of a JSON text or, where it is none, of a Python literal; None where it is neither."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"


def _body(value: object) -> object:
    """The known keys of a body, without the sections that hold nothing; anything but a dict as it is."""
    if not isinstance(value, Mapping):
        return value
    sections = value.get("sections")
    if isinstance(sections, list | tuple):
        sections = [kept for part in sections if (kept := _known_lines(part, Section))]
    lines = {"summary": value.get("summary"), "sections": sections}
    return {key: _without_blanks(line) for key, line in lines.items() if line is not None}


def _known_lines(part: object, record: type[Section]) -> object:
    if not isinstance(part, Mapping):
        return part
    lines = {key: _without_blanks(part.get(key)) for key in record.model_fields}
    return {key: line for key, line in lines.items() if line}


def _without_blanks(value: object) -> object:
    """A list without its blank strings, a blank string as None; anything else as it is, to be judged."""
    if isinstance(value, list | tuple):
        return [each for each in value if not _blank(each)]
    return None if _blank(value) else value


def _blank(value: object) -> bool:
    return value is None or (isinstance(value, str) and not normalise_text(value))
