"""A directory of plain Parquet files as the target of a query: one directory for each micro-batch.

Tasks write to a staging directory, which readers skip for its underscore. The commit moves a
batch's files into a directory of its own and renames that to `batch=N`: one atomic step of the file
system. If `batch=N` is there, the batch was committed before a crash, and the new files are
deleted. Readers see `batch` as a column. A rename is atomic on local and network file systems, not
in object stores: use Delta there.
"""

import json
import shutil
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from trio_kafka.attributes import frozen
from trio_kafka_spark.client.errors import SourceError
from trio_kafka_spark.lake.evolution import added_columns
from trio_kafka_spark.lake.files import DataFile, delete_files, replace, sync

OTHER_QUERY: Final = "LAKE_TABLE_OF_OTHER_QUERY"
BATCH: Final = "batch"
_STAGING: Final = "_staging"
_DESCRIPTION: Final = "_trio_kafka.json"
_LEFTOVERS_S: Final = 3600.0


@frozen
class ParquetTarget:
    """The table in this directory, which need not exist yet."""

    path: Path

    @property
    def task_directory(self) -> Path:
        """Directory that tasks write to."""
        return self.path / _STAGING

    def prepare(self, schema: dict[str, Any], app: str) -> None:
        """Create the table, or add new columns. schema: Spark's JSON. Raises SourceError.

        The table belongs to one query, as batch numbers are those of one checkpoint.
        """
        described = self.description()
        if described is None:
            self._refuse_strangers()
            described = {"app": app, "schema": {"type": "struct", "fields": []}}
        if described["app"] != app:
            raise SourceError(
                OTHER_QUERY,
                f"table {self.path} was written by another query, or its checkpoint was deleted:"
                " its batches have other numbers; write to a new path, or use Delta, which"
                " several queries may write to",
            )
        new = added_columns(str(self.path), described["schema"], schema)
        if new:
            described["schema"]["fields"] += new
            replace(self.path / _DESCRIPTION, json.dumps(described))
        self._remove_leftovers()

    def commit(self, app: str, batch: int, files: Sequence[DataFile]) -> bool:  # noqa: ARG002
        """Add the files of a batch; False, and they are deleted: the table has that batch."""
        final = self.path / f"{BATCH}={batch}"
        if final.exists():
            sync(self.path)  # the run that renamed it may have ended before it did so
            delete_files(self.task_directory, files)
            return False
        if not files:
            return True
        draft = self.task_directory / f"{BATCH}-{batch}-{uuid.uuid4()}"
        draft.mkdir()
        for number, file in enumerate(files):
            (self.task_directory / file.name).rename(draft / f"part-{number:05}.parquet")
        sync(draft)
        draft.rename(final)  # fails if another driver was faster: a directory with files is there
        sync(self.path)
        return True

    def discard(self, app: str, batch: int, files: Sequence[DataFile]) -> None:  # noqa: ARG002
        """Delete the files of an aborted batch, except those that the table may have.

        The files of a batch that was committed, or nearly, are no longer in the staging directory.
        """
        delete_files(self.task_directory, files)

    def schema(self) -> dict[str, Any] | None:
        """Return Spark's JSON of all columns; None: this is no table of ours."""
        described = self.description()
        return None if described is None else dict(described["schema"])

    def description(self) -> dict[str, Any] | None:
        """Return the table's description (id of its query, columns); None if there is none."""
        try:
            description = json.loads((self.path / _DESCRIPTION).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return dict(description)

    def _refuse_strangers(self) -> None:
        if self.path.exists() and any(
            not entry.name.startswith(("_", ".")) for entry in self.path.iterdir()
        ):
            raise SourceError(
                OTHER_QUERY,
                f"directory {self.path} has files, but {_DESCRIPTION} is missing: it is no table"
                " of this kind; write to a new path",
            )

    def _remove_leftovers(self) -> None:
        """Delete what crashed tasks have left, unless it is so new that a task may be at work."""
        self.task_directory.mkdir(parents=True, exist_ok=True)
        for leftover in self.task_directory.iterdir():
            if leftover.stat().st_mtime < time.time() - _LEFTOVERS_S:
                if leftover.is_dir():
                    shutil.rmtree(leftover, ignore_errors=True)
                else:
                    leftover.unlink(missing_ok=True)
