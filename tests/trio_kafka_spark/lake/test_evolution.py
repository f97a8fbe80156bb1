from typing import Any

import pytest

from trio_kafka_spark.client.errors import SourceError
from trio_kafka_spark.lake.evolution import added_columns, bare, shown


def struct(*fields: tuple[str, Any], nullable: bool = True) -> dict[str, Any]:
    columns = [{"name": n, "type": t, "nullable": nullable, "metadata": {}} for n, t in fields]
    return {"type": "struct", "fields": columns}


ARRAY = {"type": "array", "elementType": "long", "containsNull": True}
MAP = {"type": "map", "keyType": "string", "valueType": ARRAY, "valueContainsNull": True}


def test_only_columns_that_the_table_lacks_are_added() -> None:
    new = added_columns(
        "t", struct(("a", "long"), ("old", "string")), struct(("a", "long"), ("b", MAP))
    )

    assert [row["name"] for row in new] == ["b"]


def test_columns_that_differ_only_in_nullability_are_the_same() -> None:
    strict = {**ARRAY, "containsNull": False}

    assert added_columns("t", struct(("a", ARRAY)), struct(("a", strict), nullable=False)) == []


@pytest.mark.parametrize(
    ("before", "now", "reason"),
    [
        ("long", "integer", "column a is long, the query writes integer"),
        (ARRAY, MAP, "column a is array<long>, the query writes map<string,array<long>>"),
        (
            struct(("x", "long")),
            struct(("y", "long")),
            "struct<x:long>, the query .*struct<y:long>",
        ),
    ],
)
def test_a_changed_column_type_is_refused_with_both_types(
    before: Any, now: Any, reason: str
) -> None:
    with pytest.raises(SourceError, match=reason) as caught:
        added_columns("/lake/t", struct(("a", before)), struct(("a", now)))

    assert caught.value.condition == "LAKE_SCHEMA_CHANGED"
    assert "table /lake/t" in str(caught.value)


def test_a_column_name_in_another_case_is_refused() -> None:
    with pytest.raises(SourceError, match="column Id of the table is written as id"):
        added_columns("t", struct(("Id", "long")), struct(("id", "long")))


def test_a_query_without_a_not_null_column_of_the_table_is_refused() -> None:
    with pytest.raises(SourceError, match="column a must not be null; the query lacks it"):
        added_columns("t", struct(("a", "long"), nullable=False), struct(("b", "long")))


def test_types_are_shown_as_in_sql_and_compared_without_nullability() -> None:
    assert shown(struct(("a", MAP))) == "struct<a:map<string,array<long>>>"
    assert bare(struct(("a", "long"))) == bare(struct(("a", "long"), nullable=False))
