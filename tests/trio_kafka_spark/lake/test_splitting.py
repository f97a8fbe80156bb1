import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: make test SPARK=yes")

from trio_kafka_spark.lake.splitting import ByError, Whole, conformed

TABLE = pa.schema([("id", pa.int64()), ("kafka_offset", pa.int64())])
DEAD = pa.schema([("error", pa.string()), ("value", pa.binary()), ("offset", pa.int64())])


def parsed(*errors: str | None) -> pa.RecordBatch:
    n = len(errors)
    return pa.RecordBatch.from_pydict(
        {
            "kafka_offset": pa.array(range(n), pa.int64()),
            "id": pa.array([None if error else 1 for error in errors], pa.int64()),
            "kafka_value": pa.array([error.encode() if error else None for error in errors]),
            "kafka_error": pa.array(errors, pa.string()),
        }
    ).cast(
        pa.schema(
            [
                ("kafka_offset", pa.int64()),
                ("id", pa.int64()),
                ("kafka_value", pa.binary()),
                ("kafka_error", pa.string()),
            ]
        )
    )


def test_rows_without_errors_are_all_written_to_the_table() -> None:
    good, bad = ByError(TABLE, DEAD)(parsed(None, None))

    assert good.schema == TABLE
    assert good.num_rows == 2
    assert bad is None


def test_rows_with_errors_become_dead_letters_with_the_record_s_column_names() -> None:
    good, bad = ByError(TABLE, DEAD)(parsed(None, "a", None, "b"))

    assert good.to_pylist() == [{"id": 1, "kafka_offset": 0}, {"id": 1, "kafka_offset": 2}]
    assert bad is not None
    assert bad.schema == DEAD
    assert bad.to_pylist()[1] == {"error": "b", "value": b"b", "offset": 3}


def test_rows_get_the_column_order_and_types_of_the_table() -> None:
    rows = pa.RecordBatch.from_pydict({"b": [1], "a": pa.array(["x"], pa.large_string())})
    schema = pa.schema([("a", pa.string()), ("b", pa.int64())])

    good, bad = Whole(schema)(rows)

    assert (good.schema, bad) == (schema, None)
    assert conformed(rows, schema) == good
    with pytest.raises(KeyError):
        conformed(rows, pa.schema([("c", pa.int64())]))
