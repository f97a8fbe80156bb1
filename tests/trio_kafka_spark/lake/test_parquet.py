import contextlib
import os
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from trio_kafka_spark.client.errors import SourceError
from trio_kafka_spark.lake.files import DataFile, FileWriter
from trio_kafka_spark.lake.parquet import ParquetTarget


def spark_json(**types: str) -> dict[str, Any]:
    return {
        "type": "struct",
        "fields": [
            {"name": name, "type": kind, "nullable": True, "metadata": {}}
            for name, kind in types.items()
        ],
    }


def files_of(target: ParquetTarget, *numbers: int) -> list[DataFile]:
    writer = FileWriter(directory=target.task_directory, schema=pa.schema([("n", pa.int64())]))
    writer.write(pa.RecordBatch.from_pydict({"n": numbers}))
    return writer.close()


def rows_of(target: ParquetTarget) -> list[tuple[int, int]]:
    result = ds.dataset(target.path, format="parquet", partitioning="hive").to_table().to_pylist()
    return sorted((row["batch"], row["n"]) for row in result)


def prepared(path: Path) -> ParquetTarget:
    target = ParquetTarget(path / "table")
    target.prepare(spark_json(n="long"), "app")
    return target


def test_a_replayed_batch_is_added_to_a_parquet_table_once(tmp_path: Path) -> None:
    target = prepared(tmp_path)

    assert target.commit("app", 0, files_of(target, 1, 2) + files_of(target, 3))
    assert target.commit("app", 2, files_of(target, 4))
    for _ in range(2):
        again = files_of(target, 2, 1, 3)  # a replay may cut its files elsewhere
        assert not target.commit("app", 0, again)
        assert not (target.task_directory / again[0].name).exists()

    assert rows_of(target) == [(0, 1), (0, 2), (0, 3), (2, 4)]
    assert list(target.task_directory.iterdir()) == []


@pytest.mark.parametrize("crash_at", range(8))
def test_after_a_crash_in_a_commit_the_table_has_all_or_nothing_of_the_batch(
    tmp_path: Path, crash_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = prepared(tmp_path)
    steps = 0

    def crash() -> None:
        nonlocal steps
        steps += 1
        if steps == crash_at:
            raise KeyboardInterrupt

    rename = Path.rename

    def renaming(self: Path, other: Path) -> Path:
        crash()
        path = rename(self, other)
        crash()
        return path

    files = files_of(target, 1, 2) + files_of(target, 3)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", renaming)
        with contextlib.suppress(KeyboardInterrupt):
            target.commit("app", 0, files)
    seen = rows_of(target)
    target.commit("app", 0, files_of(target, 1, 2, 3))

    assert seen in ([], [(0, 1), (0, 2), (0, 3)])
    assert rows_of(target) == [(0, 1), (0, 2), (0, 3)]


def test_an_abort_deletes_files_of_an_uncommitted_batch_only(tmp_path: Path) -> None:
    target = prepared(tmp_path)
    committed, aborted = files_of(target, 1), files_of(target, 2)
    target.commit("app", 0, committed)

    target.discard("app", 0, committed)
    target.discard("app", 1, aborted)

    assert rows_of(target) == [(0, 1)]
    assert list(target.task_directory.iterdir()) == []


def test_a_replay_has_the_disk_keep_the_directory_of_a_batch_renamed_before_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = prepared(tmp_path)
    synced: list[Path] = []
    (target.path / "batch=0").mkdir()  # and then the driver dies
    files = files_of(target, 1)
    monkeypatch.setattr("trio_kafka_spark.lake.parquet.sync", synced.append)

    assert not target.commit("app", 0, files)

    assert synced == [target.path]


def test_two_drivers_cannot_both_add_a_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = prepared(tmp_path)
    files, others = files_of(target, 1), files_of(target, 1)
    monkeypatch.setattr(Path, "exists", lambda _: False)  # both look before either has committed
    target.commit("app", 0, others)

    with pytest.raises(OSError, match="not empty"):
        target.commit("app", 0, files)

    monkeypatch.undo()
    assert rows_of(target) == [(0, 1)]


def test_a_batch_without_files_makes_no_directory(tmp_path: Path) -> None:
    target = prepared(tmp_path)

    assert target.commit("app", 0, [])
    assert not (target.path / "batch=0").exists()


def test_a_parquet_table_of_another_query_is_refused(tmp_path: Path) -> None:
    target = prepared(tmp_path)
    target.prepare(spark_json(n="long"), "app")

    with pytest.raises(SourceError, match=r"\[LAKE_TABLE_OF_OTHER_QUERY\].*checkpoint was deleted"):
        target.prepare(spark_json(n="long"), "another")


def test_a_directory_with_foreign_files_is_refused_as_table(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")

    with pytest.raises(SourceError, match="it is no table of this kind"):
        ParquetTarget(tmp_path).prepare(spark_json(n="long"), "app")


def test_new_columns_are_added_to_the_schema_and_a_changed_type_is_refused(tmp_path: Path) -> None:
    target = prepared(tmp_path)
    target.prepare(spark_json(n="long", m="string"), "app")
    target.prepare(spark_json(n="long"), "app")

    schema = target.schema()
    assert schema is not None
    assert [field_["name"] for field_ in schema["fields"]] == ["n", "m"]
    with pytest.raises(SourceError, match="column m is string, the query writes long"):
        target.prepare(spark_json(m="long"), "app")


def test_only_old_staging_files_are_removed_when_a_table_is_prepared(tmp_path: Path) -> None:
    target = prepared(tmp_path)
    (old,), (new,) = files_of(target, 1), files_of(target, 2)
    (target.task_directory / "batch-0-x").mkdir()
    hours_ago = time.time() - 7200
    for name in (old.name, "batch-0-x"):
        os.utime(target.task_directory / name, (hours_ago, hours_ago))

    target.prepare(spark_json(n="long"), "app")

    assert [path.name for path in target.task_directory.iterdir()] == [new.name]


def test_a_directory_without_a_table_has_no_schema(tmp_path: Path) -> None:
    assert ParquetTarget(tmp_path).schema() is None
