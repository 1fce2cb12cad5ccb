"""The external gold: read as annotated, and refused as a whole where a page would be lost."""

import gzip
import json
from pathlib import Path

import pytest

from ml.gold import gold_version, read_gold

HTML = "<html><body><h1>Ferry back</h1><p>The ferry runs again.</p><p>From Monday on.</p></body></html>"
ANNOTATION = {
    "title": "Ferry back",
    "authors": "Ada Byron, Jun Ito",
    "date": "2025-03-02",
    "text": "The ferry runs again.\n\nFrom  Monday on.",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "a.html.gz").write_bytes(gzip.compress(HTML.encode()))
    (tmp_path / "pages" / "b.html").write_text(HTML)
    return tmp_path


def manifest(folder: Path, *rows: dict[str, object]) -> None:
    (folder / "manifest.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def row(page_id: str = "a", file: str = "pages/a.html.gz", **gold: object) -> dict[str, object]:
    return {
        "id": page_id,
        "url": f"https://www.island.example/{page_id}",
        "file": file,
        "gold": ANNOTATION | gold,
    }


def test_an_annotation_becomes_a_reference(folder: Path) -> None:
    manifest(folder, row())
    (page,) = read_gold(folder)
    reference = page.reference()
    assert reference.plaintext == "The ferry runs again.\n\nFrom Monday on."
    assert json.loads(reference.json)["authors"] == ["Ada Byron", "Jun Ito"]
    assert reference.fields == {"title", "authors", "date_day"}
    assert reference.publisher == "island.example"
    assert reference.language == "en"
    assert "The ferry runs again." in reference.compact


def test_what_is_not_annotated_is_compared_with_nothing(folder: Path) -> None:
    manifest(folder, row(title="", authors="", date=None))
    assert read_gold(folder)[0].reference().fields == frozenset()


def test_plain_files_are_read_too(folder: Path) -> None:
    manifest(folder, row("b", "pages/b.html"))
    assert read_gold(folder)[0].html == HTML


def test_every_line_that_cannot_be_used_is_named(folder: Path) -> None:
    manifest(folder, row(), row("c", "pages/none.html"), {"id": "d"}, row(date="yesterday"), row())
    with pytest.raises(ValueError, match="4 problems") as caught:
        read_gold(folder)
    message = str(caught.value)
    assert "line 2: " in message
    assert "line 3: url: Field required" in message
    assert "line 4: gold.date" in message
    assert "id a is there more than once" in message


def test_a_folder_without_manifest_is_no_gold_set(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"expected manifest\.jsonl"):
        read_gold(folder)


def test_the_version_follows_pages_and_annotations(folder: Path) -> None:
    manifest(folder, row(), row("b", "pages/b.html"))
    version = gold_version(read_gold(folder))
    manifest(folder, row("b", "pages/b.html"), row())
    assert gold_version(read_gold(folder)) == version
    manifest(folder, row(title="Ferry late"), row("b", "pages/b.html"))
    assert gold_version(read_gold(folder)) != version
