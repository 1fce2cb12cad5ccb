"""How assets show themselves in the Dagster UI: column schemas, tables and pictures.

Belongs here: turning records and plots into Dagster metadata. Does not belong here: what is shown.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import dagster as dg

from ml.plots import as_markdown_image
from ml.records import Record


def column_schema(record: type[Record]) -> dg.TableSchema:
    """The columns of a record, as the catalogue shows them."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                field.name,
                str(field.type),
                description=(field.metadata or {}).get(b"description", b"").decode() or None,
                constraints=dg.TableColumnConstraints(nullable=field.nullable),
            )
            for field in record.schema()
        ]
    )


def definition_metadata(record: type[Record]) -> dict[str, Any]:
    """What an asset that writes this record declares of itself."""
    return {"dagster/column_schema": column_schema(record)}


def record_table(rows: Sequence[Record]) -> dg.MarkdownMetadataValue:
    """Records as a Markdown table."""
    return mapping_table([asdict(row) for row in rows])


def mapping_table(rows: Sequence[Mapping[str, object]]) -> dg.MarkdownMetadataValue:
    """Rows with equal keys as a Markdown table; says so where there are none."""
    if not rows:
        return dg.MetadataValue.md("*no rows*")
    names = list(rows[0])
    lines = [names, ["---"] * len(names), *([_cell(row[name]) for name in names] for row in rows)]
    return dg.MetadataValue.md("\n".join(f"| {' | '.join(line)} |" for line in lines))


def picture(png: bytes) -> dg.MarkdownMetadataValue:
    """A plot inside the UI's page."""
    return dg.MetadataValue.md(as_markdown_image(png))


def bullet_list(lines: Iterable[str]) -> dg.MarkdownMetadataValue:
    """Sentences, one a line; empty where there are none."""
    return dg.MetadataValue.md("\n".join(f"- {line}" for line in lines))


def _cell(value: object) -> str:
    text = f"{value:.3f}" if isinstance(value, float) else "" if value is None else str(value)
    return text.replace("|", "\\|").replace("\n", " ")
