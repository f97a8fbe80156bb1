"""The sink of `topic_to_table`: tasks write Parquet files, the driver commits them once a batch.

Spark may run a task twice, and replays the last batch after a crash. What decides is the commit:
its target knows which batches it has. The dead-letter table is a target of its own, with a commit
of its own: a crash or a failure between the two is mended by the replay, so an abort leaves alone
what a table has.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, Self

import pyarrow as pa
from attrs import asdict, field
from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from trio_kafka.attributes import frozen
from trio_kafka_spark.client.errors import SourceError
from trio_kafka_spark.lake.files import DataFile, FileWriter
from trio_kafka_spark.lake.registry import RegistrySettings
from trio_kafka_spark.lake.splitting import AvroSplit, ByError, Split, Whole
from trio_kafka_spark.lake.values import ERROR

NAME: Final = "trio-kafka-table"
PLAN: Final = "plan"
BAD_RECORD: Final = "LAKE_BAD_RECORD"
RAW, JSON, AVRO = "raw", "json", "avro"


class Target(Protocol):
    """A table that takes the files of a micro-batch, once."""

    @property
    def task_directory(self) -> Path:
        """Directory that tasks write their files to."""

    def prepare(self, schema: dict[str, Any], app: str) -> None:
        """Create the table, or add new columns."""

    def commit(self, app: str, batch: int, files: Sequence[DataFile]) -> bool:
        """Add the files of a batch; False, and they are deleted: the table has that batch."""

    def discard(self, app: str, batch: int, files: Sequence[DataFile]) -> None:
        """Delete the files of an aborted batch, except those that the table may have."""


@frozen(kw_only=True)
class TablePlan:
    """Settings of the writers; they travel as JSON, and hold no secret.

    app: id of the query, which targets keep beside the numbers of its batches. table, dead: JSON
    of Spark's structs. fail: a record that does not parse fails the query.
    """

    format: str
    path: str
    dead_path: str
    app: str
    kind: str
    table: Any = field(repr=False)
    dead: Any = field(repr=False)
    fail: bool = False
    avro_schema: object = field(default=None, repr=False)
    registry: RegistrySettings | None = None

    @classmethod
    def of(cls, text: str) -> Self:
        """Return the plan of a JSON text."""
        values = json.loads(text)
        registry = values.pop("registry")
        settings = None if registry is None else RegistrySettings(**registry)
        return cls(registry=settings, **values)

    def text(self) -> str:
        """Return the plan as JSON."""
        return json.dumps(asdict(self))

    def target(self, *, dead: bool = False) -> Target:
        """Return the table, or the dead-letter table."""
        path = Path(self.dead_path if dead else self.path)
        if self.format == "delta":
            from trio_kafka_spark.lake.delta import DeltaTarget  # noqa: PLC0415 - deltalake

            return DeltaTarget(path)
        from trio_kafka_spark.lake.parquet import ParquetTarget  # noqa: PLC0415

        return ParquetTarget(path)

    def prepare(self) -> None:
        """Create or widen the tables. Raises SourceError."""
        self.target().prepare(self.table, self.app)
        if self.kind != RAW and not self.fail:
            self.target(dead=True).prepare(self.dead, self.app)

    def schemas(self) -> tuple[pa.Schema, pa.Schema]:
        """Return the Arrow schemas of the table and of the dead letters."""
        table, dead = (
            to_arrow_schema(StructType.fromJson(schema), timezone="UTC")
            for schema in (self.table, self.dead)
        )
        return table, dead

    def split(self) -> Split:
        """Return the splitter of good rows and dead letters; called in the task."""
        table, dead = self.schemas()
        if self.kind == RAW:
            return Whole(table)
        if self.kind == JSON:
            return ByError(table, dead)
        return AvroSplit(table, dead, schema=self.avro_schema, registry=self.registry)


@frozen
class TaskFiles(WriterCommitMessage):
    """Files that one task has written: of the table, and of dead letters."""

    files: list[DataFile]
    dead: list[DataFile]


class TableWriter(DataSourceStreamArrowWriter):
    """Writer of one query; pickled with each task, and built again for each commit."""

    def __init__(self, plan: TablePlan) -> None:
        self.plan = plan

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskFiles:
        """Write the rows of one task to new files."""
        table, dead = self.plan.schemas()
        split = self.plan.split()
        good = FileWriter(directory=self.plan.target().task_directory, schema=table)
        bad = FileWriter(directory=self.plan.target(dead=True).task_directory, schema=dead)
        try:
            for rows in iterator:
                kept, letters = split(rows)
                good.write(kept)
                if letters is not None:
                    self._refuse(letters)
                    bad.write(letters)
            return TaskFiles(good.close(), bad.close())
        except BaseException:
            good.abandon()
            bad.abandon()
            raise

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's
        """Add the files of all tasks to the tables, once."""
        files, dead = _files_of(messages)
        self.plan.target().commit(self.plan.app, batchId, files)
        if dead:
            self.plan.target(dead=True).commit(self.plan.app, batchId, dead)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Delete the files of the tasks that succeeded, unless a table has the batch.

        The other tasks have deleted their own.
        """
        # Spark also aborts after a commit that failed, which may have added the files to one table.
        files, dead = _files_of(messages)
        if files:
            self.plan.target().discard(self.plan.app, batchId, files)
        if dead:
            self.plan.target(dead=True).discard(self.plan.app, batchId, dead)

    def _refuse(self, letters: pa.RecordBatch) -> None:
        if self.plan.fail:
            first = letters.slice(0, 1).to_pylist()[0]
            raise SourceError(
                BAD_RECORD,
                f"{first['topic']}-{first['partition']}, offset {first['offset']}:"
                f" {first[ERROR]}; give a dead-letter table to put such records aside",
            )


def _files_of(
    messages: Sequence[WriterCommitMessage | None],
) -> tuple[list[DataFile], list[DataFile]]:
    """Return the files of all tasks: of the table, and of dead letters."""
    tasks = [message for message in messages if isinstance(message, TaskFiles)]
    files = [file for task in tasks for file in task.files]
    return files, [file for task in tasks for file in task.dead]


class TableSink(DataSource):
    """The format of `topic_to_table`; its one option is a plan."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return NAME

    def streamWriter(self, schema: StructType, overwrite: bool) -> TableWriter:  # noqa: ARG002, N802
        """Return the writer of the plan."""
        return TableWriter(TablePlan.of(self.options[PLAN]))
