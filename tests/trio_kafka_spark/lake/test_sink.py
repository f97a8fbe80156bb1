"""The writer of tables, called as Spark calls it: write in tasks, commit on the driver, replays."""

import datetime as dt
import errno
import io
import json
import pickle
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: make test SPARK=yes")

from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from pyspark.sql.types import StructType

from trio_kafka_spark.client.errors import SourceError
from trio_kafka_spark.lake.registry import RegistrySettings
from trio_kafka_spark.lake.sink import PLAN, TablePlan, TableSink, TableWriter
from trio_kafka_spark.lake.values import dead_letter_schema, json_of, parsed_schema, raw_schema

AT = dt.datetime(2024, 5, 6, tzinfo=dt.UTC)
ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "value", "type": "string"}],
}


def plan(path: Path, kind: str = "raw", table: str = "delta", **more: Any) -> TablePlan:
    schema = raw_schema(headers=False)
    if kind != "raw":
        value = StructType().add("id", "long").add("value", "string")
        schema = parsed_schema(value, headers=False)
    table_plan = TablePlan(
        format=table,
        path=str(path / "table"),
        dead_path=str(path / "dead"),
        app="app",
        kind=kind,
        table=json_of(schema),
        dead=json_of(dead_letter_schema(headers=False)),
        **more,
    )
    table_plan.prepare()
    return TablePlan.of(table_plan.text())


def records(first: int, *values: bytes | None) -> pa.RecordBatch:
    n = len(values)
    return pa.RecordBatch.from_pydict(
        {
            "key": pa.array([b"k"] * n, pa.binary()),
            "value": pa.array(values, pa.binary()),
            "topic": ["t"] * n,
            "partition": pa.array([0] * n, pa.int32()),
            "offset": pa.array(range(first, first + n), pa.int64()),
            "timestamp": pa.array([AT] * n, pa.timestamp("us", "Europe/Berlin")),
        }
    )


def avro(number: int) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, ORDER, {"id": number, "value": f"v{number}"})
    return stream.getvalue()


def rows(path: Path, table: str = "delta") -> list[dict[str, Any]]:
    if table == "delta":
        result = DeltaTable(str(path)).to_pyarrow_table()
    else:
        result = ds.dataset(path, format="parquet", partitioning="hive").to_table()
    return sorted(result.to_pylist(), key=lambda row: row.get("offset", row.get("kafka_offset")))


def task(table_plan: TablePlan, *batches: pa.RecordBatch) -> Any:
    """One task, with what travels to it and back."""
    writer = pickle.loads(pickle.dumps(TableWriter(table_plan)))
    return pickle.loads(pickle.dumps(writer.write(iter(batches))))


@pytest.mark.parametrize("table", ["delta", "parquet"])
def test_raw_records_of_a_replayed_batch_are_in_the_table_once(tmp_path: Path, table: str) -> None:
    table_plan = plan(tmp_path, table=table)
    for _ in range(3):  # a crash after the commit, and another one: Spark replays the batch
        messages = [
            task(table_plan, records(0, b"a", None)),
            task(table_plan, records(2, b"c")),
            None,
        ]
        TableWriter(table_plan).commit(messages, 0)
    TableWriter(table_plan).commit([task(table_plan, records(3, b"d")), task(table_plan)], 1)

    result = rows(tmp_path / "table", table)
    assert [(row["offset"], row["value"]) for row in result] == [
        (0, b"a"),
        (1, None),
        (2, b"c"),
        (3, b"d"),
    ]
    assert result[0]["timestamp"] == AT
    assert result[0]["key"] == b"k"


@pytest.mark.parametrize("table", ["delta", "parquet"])
def test_invalid_avro_of_a_replayed_batch_is_in_the_dead_letters_once(
    tmp_path: Path, table: str
) -> None:
    table_plan = plan(tmp_path, "avro", table, avro_schema=ORDER)
    for _ in range(2):
        messages = [
            task(table_plan, records(0, avro(7), b"bad", None), records(3, avro(8))),
            task(table_plan, records(4, b"")),
        ]
        TableWriter(table_plan).commit(messages, 5)

    result = rows(tmp_path / "table", table)
    assert [(row["kafka_offset"], row["id"], row["value"]) for row in result] == [
        (0, 7, "v7"),
        (2, None, None),
        (3, 8, "v8"),
    ]
    dead = rows(tmp_path / "dead", table)
    assert [(row["offset"], row["value"], row["topic"]) for row in dead] == [
        (1, b"bad", "t"),
        (4, b"", "t"),
    ]
    assert "no Avro of this schema" in dead[0]["error"]
    assert dead[0]["timestamp"] == AT


def test_a_replay_after_a_crash_adds_only_the_missing_dead_letters(tmp_path: Path) -> None:
    table_plan = plan(tmp_path, "avro", avro_schema=ORDER)
    first = task(table_plan, records(0, avro(7), b"bad"))
    table_plan.target().commit("app", 0, first.files)  # and then the driver dies

    TableWriter(table_plan).commit([task(table_plan, records(0, avro(7), b"bad"))], 0)

    assert [row["id"] for row in rows(tmp_path / "table")] == [7]
    assert [row["offset"] for row in rows(tmp_path / "dead")] == [1]


def test_parsed_rows_with_an_error_are_written_to_the_dead_letters(tmp_path: Path) -> None:
    table_plan = plan(tmp_path, "json")
    parsed = pa.RecordBatch.from_pydict(
        {
            "id": pa.array([1, None, 3], pa.int64()),
            "value": ["a", None, "c"],
            "kafka_key": pa.array([b"k"] * 3),
            "kafka_topic": ["t"] * 3,
            "kafka_partition": pa.array([0, 0, 1], pa.int32()),
            "kafka_offset": pa.array([0, 1, 2], pa.int64()),
            "kafka_timestamp": pa.array([AT] * 3, pa.timestamp("us", "UTC")),
            "kafka_error": pa.array([None, "why", None], pa.string()),
            "kafka_value": pa.array([None, b"{", None], pa.binary()),
        }
    )
    TableWriter(table_plan).commit([task(table_plan, parsed)], 0)

    assert [(row["id"], row["value"]) for row in rows(tmp_path / "table")] == [(1, "a"), (3, "c")]
    (dead,) = rows(tmp_path / "dead")
    assert (dead["error"], dead["value"], dead["offset"]) == ("why", b"{", 1)


def test_without_dead_letters_a_bad_record_fails_the_task_and_leaves_no_file(
    tmp_path: Path,
) -> None:
    table_plan = plan(tmp_path, "avro", "parquet", avro_schema=ORDER, fail=True)

    with pytest.raises(SourceError, match=r"\[LAKE_BAD_RECORD\] t-0, offset 4: no Avro"):
        task(table_plan, records(3, avro(1), b"bad"))

    assert list((tmp_path / "table" / "_staging").iterdir()) == []
    assert not (tmp_path / "dead").exists()


def test_an_aborted_batch_leaves_no_file(tmp_path: Path) -> None:
    table_plan = plan(tmp_path, "avro", avro_schema=ORDER)
    before = set(tmp_path.rglob("*.parquet"))

    TableWriter(table_plan).abort([task(table_plan, records(0, avro(1), b"bad")), None], 0)

    assert set(tmp_path.rglob("*.parquet")) == before
    assert rows(tmp_path / "table") == []


@pytest.mark.parametrize("failing", ["table", "dead"])
@pytest.mark.parametrize("is_durable", [False, True])
def test_a_batch_whose_commit_failed_between_two_tables_is_in_both_once_after_its_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str, is_durable: bool
) -> None:
    table_plan = plan(tmp_path, "avro", avro_schema=ORDER)
    messages = [task(table_plan, records(0, avro(1), b"bad")), None]
    add = DeltaTable.create_write_transaction

    def full_disk(table: DeltaTable, *actions: Any, **options: Any) -> None:
        is_failing = table.table_uri.rstrip("/").endswith(failing)
        if is_durable or not is_failing:
            add(table, *actions, **options)
        if is_failing:
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(DeltaTable, "create_write_transaction", full_disk)
        with pytest.raises(OSError, match="No space left"):
            TableWriter(table_plan).commit(messages, 0)
    TableWriter(table_plan).abort(messages, 0)  # as Spark does after a commit that failed

    TableWriter(table_plan).commit([task(table_plan, records(0, avro(1), b"bad"))], 0)

    assert [row["id"] for row in rows(tmp_path / "table")] == [1]
    assert [row["offset"] for row in rows(tmp_path / "dead")] == [1]
    assert len(list(tmp_path.rglob("*.parquet"))) == 2


def test_an_abort_deletes_nothing_of_a_table_whose_log_cannot_be_read(tmp_path: Path) -> None:
    table_plan = plan(tmp_path)
    messages = [task(table_plan, records(0, b"a"))]
    TableWriter(table_plan).commit(messages, 0)
    log = tmp_path / "table" / "_delta_log"
    log.rename(tmp_path / "away")

    with pytest.raises(TableNotFoundError):
        TableWriter(table_plan).abort(messages, 0)

    (tmp_path / "away").rename(log)
    assert [row["offset"] for row in rows(tmp_path / "table")] == [0]


def test_the_plan_of_a_sink_is_an_option_without_secrets(tmp_path: Path) -> None:
    registry = RegistrySettings(url="http://127.0.0.1:1", credentials_env="SECRET")
    table_plan = plan(tmp_path, "avro", avro_schema=ORDER, registry=registry)

    writer = TableSink({PLAN: table_plan.text()}).streamWriter(StructType(), False)

    assert writer.plan == table_plan
    assert table_plan.registry == registry
    assert json.loads(table_plan.text())["registry"]["credentials_env"] == "SECRET"
