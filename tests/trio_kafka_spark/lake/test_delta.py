from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("deltalake", reason="pyspark is not installed: make test SPARK=yes")

from deltalake import DeltaTable, write_deltalake

from trio_kafka_spark.client.errors import SourceError
from trio_kafka_spark.lake.delta import DeltaTarget
from trio_kafka_spark.lake.files import DataFile, FileWriter


def spark_json(**types: str) -> dict[str, Any]:
    return {
        "type": "struct",
        "fields": [
            {"name": name, "type": kind, "nullable": True, "metadata": {}}
            for name, kind in types.items()
        ],
    }


def files_of(target: DeltaTarget, *numbers: int) -> list[DataFile]:
    writer = FileWriter(directory=target.task_directory, schema=pa.schema([("n", pa.int64())]))
    writer.write(pa.RecordBatch.from_pydict({"n": numbers}))
    return writer.close()


def rows_of(target: DeltaTarget) -> list[Any]:
    table = DeltaTable(str(target.path)).to_pyarrow_table()
    return sorted(table.column("n").to_pylist())


def prepared(path: Path) -> DeltaTarget:
    target = DeltaTarget(path / "table")
    target.prepare(spark_json(n="long"), "app")
    return target


def test_a_replayed_batch_is_added_to_a_delta_table_once(tmp_path: Path) -> None:
    target = prepared(tmp_path)

    assert target.commit("app", 0, files_of(target, 1, 2))
    assert target.commit("app", 1, files_of(target, 3))
    for _ in range(2):
        again = files_of(target, 3)
        assert not target.commit("app", 1, again)
        assert not (target.path / again[0].name).exists()
    assert not target.commit("app", 0, files_of(target, 1, 2))

    assert rows_of(target) == [1, 2, 3]


def test_batch_numbers_of_two_queries_are_independent(tmp_path: Path) -> None:
    target = prepared(tmp_path)

    target.commit("app", 5, files_of(target, 1))
    target.commit("other", 0, files_of(target, 2))

    assert rows_of(target) == [1, 2]


def test_a_batch_without_files_adds_no_version_of_the_table(tmp_path: Path) -> None:
    target = prepared(tmp_path)

    assert target.commit("app", 0, [])
    assert DeltaTable(str(target.path)).version() == 0


def test_rows_of_uncommitted_files_are_not_in_the_table(tmp_path: Path) -> None:
    target = prepared(tmp_path)
    files_of(target, 7)

    assert rows_of(target) == []


def test_an_added_file_has_row_count_minimum_and_maximum_in_the_delta_log(tmp_path: Path) -> None:
    target = prepared(tmp_path)
    target.commit("app", 0, files_of(target, 4, 9))

    (added,) = pa.table(DeltaTable(str(target.path)).get_add_actions(flatten=True)).to_pylist()
    assert (added["num_records"], added["min.n"], added["max.n"]) == (2, 4, 9)


def test_new_columns_are_added_and_preparing_again_changes_nothing(tmp_path: Path) -> None:
    target = prepared(tmp_path)
    target.commit("app", 0, files_of(target, 1))
    for _ in range(2):
        target.prepare(spark_json(n="long", m="string"), "app")

    target.commit("app", 1, files_of(target, 2))
    table = DeltaTable(str(target.path)).to_pyarrow_table()
    assert table.schema.names == ["n", "m"]
    assert table.column("m").null_count == 2


def test_a_changed_column_type_of_a_delta_table_is_refused(tmp_path: Path) -> None:
    target = prepared(tmp_path)

    with pytest.raises(SourceError, match="column n is long, the query writes string"):
        target.prepare(spark_json(n="string"), "app")


def test_a_batch_that_another_run_has_committed_is_a_conflict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = prepared(tmp_path)
    stale = DeltaTable(str(target.path))
    target.commit("app", 0, files_of(target, 1))
    monkeypatch.setattr("trio_kafka_spark.lake.delta.DeltaTable", lambda _: stale)

    with pytest.raises(SourceError, match=r"\[LAKE_COMMIT_CONFLICT\].*batch 0 was not added"):
        target.commit("app", 0, files_of(target, 1))

    monkeypatch.undo()
    assert rows_of(target) == [1]


def test_a_partitioned_delta_table_is_refused(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "t"), pa.table({"n": [1], "day": ["x"]}), partition_by="day")

    with pytest.raises(SourceError, match=r"is partitioned by \['day'\]"):
        DeltaTarget(tmp_path / "t").prepare(spark_json(n="long"), "app")
