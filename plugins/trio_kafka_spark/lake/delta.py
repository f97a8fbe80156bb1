"""A Delta table as the target of a query: one transaction for each micro-batch.

The transaction carries the query's id and the number of the batch. So a batch that is replayed
after a crash is recognised in the table itself and adds nothing, whatever its tasks wrote.
"""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deltalake import CommitProperties, DeltaTable, Schema
from deltalake.exceptions import CommitFailedError, TableNotFoundError
from deltalake.schema import Field
from deltalake.transaction import AddAction, RemoveAction, Transaction

from trio_kafka.attributes import frozen
from trio_kafka_spark.client.errors import SourceError
from trio_kafka_spark.lake.evolution import added_columns
from trio_kafka_spark.lake.files import DataFile, delete_files, sync

CONFLICT = "LAKE_COMMIT_CONFLICT"
UNSUPPORTED_TABLE = "LAKE_UNSUPPORTED_TABLE"
_KNOWN_FEATURES = {"timestampNtz", "appendOnly", "invariants"}


@frozen
class DeltaTarget:
    """The table in this directory, which need not exist yet."""

    path: Path

    @property
    def task_directory(self) -> Path:
        """Directory that tasks write to; files join the table once a transaction names them."""
        return self.path

    def prepare(self, schema: dict[str, Any], app: str) -> None:  # noqa: ARG002 - of the protocol
        """Create the table, or add new columns. schema: Spark's JSON. Raises SourceError."""
        try:
            table = DeltaTable(str(self.path))
        except TableNotFoundError:
            self.path.mkdir(parents=True, exist_ok=True)
            table_schema = Schema.from_json(json.dumps(schema))
            DeltaTable.create(str(self.path), schema=table_schema, mode="ignore")
            return
        check_features(table, str(self.path))
        if table.metadata().partition_columns:
            raise SourceError(
                UNSUPPORTED_TABLE,
                f"table {self.path} is partitioned by {table.metadata().partition_columns};"
                " only tables without partition columns are written",
            )
        new = added_columns(str(self.path), json.loads(table.schema().to_json()), schema)
        if new:
            table.alter.add_columns([Field.from_json(json.dumps(column)) for column in new])

    def commit(self, app: str, batch: int, files: Sequence[DataFile]) -> bool:
        """Add the files of a batch; False, and they are deleted: the table has that batch."""
        table = DeltaTable(str(self.path))
        if _has_batch(table, app, batch):
            delete_files(self.path, files)
            return False
        if not files:
            return True
        sync(self.path)
        now_ms = int(time.time() * 1000)
        adds: list[AddAction | RemoveAction] = [
            AddAction(file.name, file.size, {}, now_ms, True, file.stats) for file in files
        ]
        properties = CommitProperties(
            app_transactions=[Transaction(app, batch)],
            custom_metadata={"trio-kafka.batch": str(batch)},
        )
        try:
            table.create_write_transaction(
                adds, "append", table.schema(), [], commit_properties=properties
            )
        except CommitFailedError as error:
            raise SourceError(
                CONFLICT,
                f"table {self.path}: batch {batch} was not added: {error}; another run of this"
                " query may be writing, or the table's schema was changed: restart the query",
            ) from None
        return True

    def discard(self, app: str, batch: int, files: Sequence[DataFile]) -> None:
        """Delete the files of an aborted batch, except those that the table may have.

        A commit can fail after its log entry is durable, so the log decides. Files of a batch that
        another run has added stay too, until VACUUM. Raises what reading the log raises, and then
        deletes nothing.
        """
        if not _has_batch(DeltaTable(str(self.path)), app, batch):
            delete_files(self.path, files)


def _has_batch(table: DeltaTable, app: str, batch: int) -> bool:
    """Return whether a transaction of this batch, or of a later one, is in the table's log."""
    done = table.transaction_version(app)
    return done is not None and done >= batch


def check_features(table: DeltaTable, where: str) -> None:
    """Refuse tables whose files need more than Parquet to be read. Raises SourceError."""
    protocol = table.protocol()
    features = {*(protocol.reader_features or []), *(protocol.writer_features or [])}
    unknown = sorted(map(str, features - _KNOWN_FEATURES))
    mode = table.metadata().configuration.get("delta.columnMapping.mode", "none")
    if mode != "none":
        unknown.append("columnMapping")
    if unknown:
        raise SourceError(
            UNSUPPORTED_TABLE,
            f"table {where} uses {', '.join(unknown)}, which is not supported;"
            f" known are {', '.join(sorted(_KNOWN_FEATURES))}",
        )
