import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from trio_kafka_spark.lake.files import Bounds, FileWriter, delete_files, replace

SCHEMA = pa.schema([("n", pa.int64()), ("s", pa.string()), ("b", pa.binary())])


def rows(*numbers: int | None) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {
            "n": numbers,
            "s": [None if n is None else f"s{n}" for n in numbers],
            "b": [b"x" for _ in numbers],
        },
        schema=SCHEMA,
    )


def test_rows_are_written_to_files_of_bounded_size_and_read_back(tmp_path: Path) -> None:
    writer = FileWriter(directory=tmp_path / "new", schema=SCHEMA, rows_of_a_file=3)
    for batch in (rows(1, 2), rows(3, None), rows(5)):
        writer.write(batch)
    files = writer.close()

    assert [file.rows for file in files] == [4, 1]
    result = [pq.read_table(tmp_path / "new" / file.name).column("n").to_pylist() for file in files]
    assert result == [[1, 2, 3, None], [5]]
    assert [file.size for file in files] == [
        (tmp_path / "new" / file.name).stat().st_size for file in files
    ]


def test_a_writer_without_rows_creates_no_file(tmp_path: Path) -> None:
    writer = FileWriter(directory=tmp_path / "new", schema=SCHEMA)
    writer.write(rows())

    assert writer.close() == []
    assert not (tmp_path / "new").exists()


def test_an_abandoned_writer_leaves_no_file(tmp_path: Path) -> None:
    writer = FileWriter(directory=tmp_path, schema=SCHEMA, rows_of_a_file=1)
    writer.write(rows(1))
    writer.rows_of_a_file = 9
    writer.write(rows(2))

    writer.abandon()

    assert list(tmp_path.iterdir()) == []


def test_file_statistics_have_the_form_of_the_delta_log() -> None:
    bounds = Bounds()
    bounds.add(rows(3, None, 1))
    bounds.add(rows(2))
    bounds.add(rows(None))

    assert json.loads(bounds.stats()) == {
        "numRecords": 5,
        "minValues": {"n": 1, "s": "s1"},
        "maxValues": {"n": 3, "s": "s3"},
        "nullCount": {"n": 2, "s": 2, "b": 0},
    }


def test_a_column_with_long_strings_has_no_minimum_and_maximum() -> None:
    bounds = Bounds()
    bounds.add(pa.RecordBatch.from_pydict({"s": ["a", "z" * 100]}))

    assert json.loads(bounds.stats())["minValues"] == {}
    assert json.loads(bounds.stats())["maxValues"] == {}


def test_deleting_files_twice_is_no_error(tmp_path: Path) -> None:
    writer = FileWriter(directory=tmp_path, schema=SCHEMA)
    writer.write(rows(1))
    files = writer.close()

    for _ in range(2):
        delete_files(tmp_path, files)

    assert list(tmp_path.iterdir()) == []


def test_a_replaced_file_has_the_new_text_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    for text in ("one", "two"):
        replace(tmp_path / "sub" / "f", text)

    assert (tmp_path / "sub" / "f").read_text() == "two"
    assert [path.name for path in (tmp_path / "sub").iterdir()] == ["f"]
