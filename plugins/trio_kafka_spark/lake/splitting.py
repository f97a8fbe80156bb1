"""Rows of a task, split into rows of the table and dead letters.

JSON is parsed by Spark, which leaves the reason in the column `kafka_error` and the value in
`kafka_value`; Avro is parsed here. A null value has nothing to parse: its row has the record's
columns, and nulls for all fields.
"""

from typing import Final, Protocol

import numpy as np
import pyarrow as pa

from trio_kafka.attributes import frozen
from trio_kafka_spark.lake.registry import RegistrySettings
from trio_kafka_spark.lake.values import ERROR, PREFIX, VALUE

Both = tuple[pa.RecordBatch, pa.RecordBatch | None]
_NOT_IN_TABLE: Final = (ERROR, VALUE)


class Split(Protocol):
    """Rows of the table, and dead letters, both with their table's columns in order."""

    def __call__(self, rows: pa.RecordBatch) -> Both:
        """Return both; None: no dead letter."""


@frozen
class Whole:
    """All rows belong to the table."""

    table: pa.Schema

    def __call__(self, rows: pa.RecordBatch) -> Both:
        return conformed(rows, self.table), None


@frozen
class ByError:
    """Rows with a reason are dead letters; all columns are there already."""

    table: pa.Schema
    dead: pa.Schema

    def __call__(self, rows: pa.RecordBatch) -> Both:
        failed = rows.column(PREFIX + ERROR).is_valid()
        if not failed.true_count:
            return conformed(rows, self.table), None
        bad = conformed(rows.filter(failed), self.dead, prefix=PREFIX)
        return conformed(rows.filter(pa.array(~np.asarray(failed))), self.table), bad


class AvroSplit:
    """Records whose value is Avro; built in the task, as it holds a registry's client."""

    def __init__(
        self,
        table: pa.Schema,
        dead: pa.Schema,
        *,
        schema: object,
        registry: RegistrySettings | None,
    ) -> None:
        from trio_kafka_spark.lake.avro import AvroParser  # noqa: PLC0415 - fastavro

        self._table = table
        self._dead = dead
        self._parser = AvroParser.of(schema, registry)
        self._beside = [name for name in dead.names if name not in _NOT_IN_TABLE]
        fields = len(table) - len(self._beside)
        self._struct = pa.struct([table.field(number) for number in range(fields)])

    def __call__(self, rows: pa.RecordBatch) -> Both:
        from trio_kafka_spark.lake.avro import columns_of  # noqa: PLC0415 - fastavro

        parsed, reasons = self._parser.parse(rows.column(VALUE))
        columns, unfit = columns_of(parsed, self._struct)
        for number, reason in unfit.items():
            reasons[number] = reason
        columns += [rows.column(name) for name in self._beside]
        good = conformed(pa.RecordBatch.from_arrays(columns, self._table.names), self._table)
        error = pa.array(reasons, pa.string())
        if error.null_count == len(error):
            return good, None
        failed = error.is_valid()
        bad = conformed(rows.append_column(ERROR, error).filter(failed), self._dead)
        return good.filter(error.is_null()), bad


def conformed(rows: pa.RecordBatch, schema: pa.Schema, *, prefix: str = "") -> pa.RecordBatch:
    """Return the columns of a schema, in its order and of its types, found under a prefix."""
    columns = [rows.column(prefix + field.name) for field in schema]
    typed = [
        column if column.type == field.type else column.cast(field.type)
        for field, column in zip(schema, columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(typed, schema=schema)
