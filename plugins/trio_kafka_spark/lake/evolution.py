"""Rules for a table whose columns differ from those that a query writes.

A new column is added, and is null in the rows that are there. A column that the query no longer
writes stays, and is null in new rows. A column of another type is refused: rows would be read
wrongly, or not at all. Types are compared as Spark writes them in JSON, which Delta shares.
"""

from collections.abc import Mapping
from typing import Any

from trio_kafka_spark.client.errors import SourceError

CHANGED = "LAKE_SCHEMA_CHANGED"


def added_columns(
    where: str, table: Mapping[str, Any], query: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the fields that the table lacks. Both schemas are Spark's JSON of a struct.

    Raises SourceError for a column whose type differs, or that must not be null in the table.
    """
    there = {column["name"].lower(): column for column in table["fields"]}
    written = {column["name"].lower() for column in query["fields"]}
    for column in query["fields"]:
        before = there.get(column["name"].lower())
        if before is None:
            continue
        if before["name"] != column["name"]:
            has, want = before["name"], column["name"]
            raise _changed(where, f"column {has} of the table is written as {want}")
        if bare(before["type"]) != bare(column["type"]):
            has, want = shown(before["type"]), shown(column["type"])
            raise _changed(where, f"column {column['name']} is {has}, the query writes {want}")
    for name, before in there.items():
        if name not in written and not before["nullable"]:
            raise _changed(where, f"column {before['name']} must not be null; the query lacks it")
    return [column for column in query["fields"] if column["name"].lower() not in there]


def bare(kind: object) -> object:
    """Return a type without nullability and metadata, which make no difference here."""
    if not isinstance(kind, Mapping):
        return kind
    if kind["type"] == "struct":
        return ("struct", [(field["name"], bare(field["type"])) for field in kind["fields"]])
    if kind["type"] == "array":
        return ("array", bare(kind["elementType"]))
    return ("map", bare(kind["keyType"]), bare(kind["valueType"]))


def shown(kind: object) -> str:
    """Return a type as in SQL."""
    if not isinstance(kind, Mapping):
        return str(kind)
    if kind["type"] == "struct":
        inner = ",".join(f"{field['name']}:{shown(field['type'])}" for field in kind["fields"])
        return f"struct<{inner}>"
    if kind["type"] == "array":
        return f"array<{shown(kind['elementType'])}>"
    return f"map<{shown(kind['keyType'])},{shown(kind['valueType'])}>"


def _changed(where: str, difference: str) -> SourceError:
    return SourceError(
        CHANGED,
        f"table {where}: {difference}; only new columns are added to a table: write to a new path,"
        " or give the value another schema",
    )
