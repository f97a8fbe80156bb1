"""Parquet files of one task, and what the driver has to know of them to commit them.

A task writes its rows to files with names of their own; no reader sees a file before its commit. A
task that runs again writes other files; those of the first run are never committed.
"""

import json
import os
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from attrs import field

from trio_kafka.attributes import define, frozen

ROWS_OF_A_FILE: Final = 5_000_000
_MINMAX: Final = (pa.types.is_integer, pa.types.is_string)
_LONGEST: Final = 32  # characters of a bound of strings, as Delta's writers have


@frozen(kw_only=True)
class DataFile:
    """A file: its name below the table's directory for tasks, its bytes, rows and statistics.

    stats: as in Delta's log: numRecords, minValues, maxValues, nullCount.
    """

    name: str
    size: int
    rows: int
    stats: str = field(default="{}", repr=False)


@define(kw_only=True)
class FileWriter:
    """Writes batches of one schema to files in `directory`, a new one after so many rows."""

    directory: Path
    schema: pa.Schema
    rows_of_a_file: int = ROWS_OF_A_FILE
    files: list[DataFile] = field(factory=list)
    _bounds: "Bounds" = field(init=False)
    _writer: pq.ParquetWriter | None = None
    _name: str = ""

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows, which must have the schema's columns."""
        if not batch.num_rows:
            return
        if self._writer is None:
            self.directory.mkdir(parents=True, exist_ok=True)
            self._name = f"part-{uuid.uuid4()}.parquet"
            path = self.directory / self._name
            self._writer = pq.ParquetWriter(path, self.schema, compression="zstd")
            self._bounds = Bounds()
        self._writer.write_batch(batch)
        self._bounds.add(batch)
        if self._bounds.rows >= self.rows_of_a_file:
            self._finish()

    def close(self) -> list[DataFile]:
        """Finish the last file and return all of them; they are on disk."""
        self._finish()
        return self.files

    def abandon(self) -> None:
        """Delete all files: the task has failed."""
        if self._writer is not None:
            self._writer.close()
            (self.directory / self._name).unlink(missing_ok=True)
            self._writer = None
        delete_files(self.directory, self.files)
        self.files = []

    def _finish(self) -> None:
        if self._writer is None:
            return
        self._writer.close()
        self._writer = None
        path = self.directory / self._name
        sync(path)
        self.files.append(
            DataFile(
                name=self._name,
                size=path.stat().st_size,
                rows=self._bounds.rows,
                stats=self._bounds.stats(),
            )
        )


@define(kw_only=True)
class Bounds:
    """Rows, nulls and bounds of the columns of one file."""

    rows: int = 0
    nulls: dict[str, int] = field(factory=dict)
    least: dict[str, Any] = field(factory=dict)
    most: dict[str, Any] = field(factory=dict)

    def add(self, batch: pa.RecordBatch) -> None:
        """Widen the bounds by the rows of a batch."""
        self.rows += batch.num_rows
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            self.nulls[name] = self.nulls.get(name, 0) + column.null_count
            if not any(is_kind(column.type) for is_kind in _MINMAX):
                continue
            bounds = pc.min_max(column).as_py()
            if bounds["min"] is not None:
                self.least[name] = min(bounds["min"], self.least.get(name, bounds["min"]))
                self.most[name] = max(bounds["max"], self.most.get(name, bounds["max"]))

    def stats(self) -> str:
        """Return them as Delta's log has them. Strings that are long have no bounds."""
        wide = {
            name
            for bounds in (self.least, self.most)
            for name, value in bounds.items()
            if isinstance(value, str) and len(value) > _LONGEST
        }
        return json.dumps(
            {
                "numRecords": self.rows,
                "minValues": {k: v for k, v in self.least.items() if k not in wide},
                "maxValues": {k: v for k, v in self.most.items() if k not in wide},
                "nullCount": self.nulls,
            }
        )


def delete_files(directory: Path, files: Iterable[DataFile]) -> None:
    """Delete files that no commit names."""
    for file in files:
        (directory / file.name).unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Have the disk keep a file, or the entries of a directory, across a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace(path: Path, text: str) -> None:
    """Write a small file at once: a reader sees the old text or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{uuid.uuid4()}")
    draft.write_text(text, encoding="utf-8")
    sync(draft)
    draft.replace(path)
    sync(path.parent)
