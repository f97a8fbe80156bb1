"""Values of many records as lines, joined by Arrow: no Python loop for each record.

Importing numpy and pyarrow costs as much as reading 400,000 records of 100 B without, so only long
reads use them: those of 1,000,000 take two thirds of the CPU time. Needs the extra [columnar].
"""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Final

from trio_kafka.clients.consumer.batch import PartitionBatch

Bytes = bytes | None
Lines = bytes | memoryview
LinesOf = Callable[[PartitionBatch[Bytes, Bytes]], Iterator[tuple[int, Lines]]]
_WORTH: Final = 500_000  # records


def lines_of(records: float) -> LinesOf:
    """Return a function from a batch to counts of records and their lines.

    records: about so many will be read.
    """
    if records >= _WORTH and find_spec("pyarrow") and find_spec("numpy"):
        return _joined
    return _listed


def _listed(batch: PartitionBatch[Bytes, Bytes]) -> Iterator[tuple[int, Lines]]:
    for values in batch.values():
        values.append(b"")  # ends with a newline, too
        try:
            lines = b"\n".join(values)  # type: ignore[arg-type]  # a null raises TypeError
        except TypeError:
            lines = b"\n".join([value or b"" for value in values])
        yield len(values) - 1, lines


def _joined(batch: PartitionBatch[Bytes, Bytes]) -> Iterator[tuple[int, Lines]]:
    from trio_kafka.records.columnar.lines import join_lines  # noqa: PLC0415 - optional, and slow

    return (join_lines(columns) for columns in batch.columns(["value"]))
