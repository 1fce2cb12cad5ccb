"""DuckDB over the store: SQL on the Parquet files as they lie.

Belongs here: opening the connection and naming its views. Does not belong here: the queries.
"""

import dagster as dg
import duckdb
import pyarrow as pa

from resources.store import Store

VIEWS = ("corpus", "split_ledger", "page_splits", "scores")


class Warehouse(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Read-only SQL on the datasets of the store that exist."""

    store: dg.ResourceDependency[Store]

    def query(self, sql: str) -> pa.Table:
        """The rows of a query; raises `ValueError` with DuckDB's message and the tables that exist."""
        connection = duckdb.connect()
        existing = [name for name in VIEWS if self.store.version(name)]
        for name in existing:
            connection.register(name, self.store.arrow_dataset(name))
        try:
            relation = connection.sql(sql)
            table: pa.Table | None = relation.to_arrow_table() if relation else None
        except duckdb.Error as error:
            tables = ", ".join(existing) or "none yet; run `newslm run`"
            raise ValueError(f"{error}\nTables to query: {tables}") from error
        if table is None:
            raise ValueError(f"expected a query that returns rows, such as a SELECT; found {sql!r}")
        return table
