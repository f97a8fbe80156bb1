"""Records that `produce` writes, and the inputs that it reads. Imports no client."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import BinaryIO, Final

from trio_kafka.attributes import frozen
from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.produce.lines import LineForm
from trio_kafka.cli.records.record_json import Headers

STDIN: Final = "-"


@frozen(kw_only=True)
class WritePlan:
    """Records to write. topic: None: that of each JSON line. form: None: JSON lines.

    whole_files: each input is one value. key, headers, partition, timestamp_ms: of records that
    have none of their own. keeps_partitions: the partition of a JSON line is used.
    rate: records/s, None: as fast as possible. most: records in all.
    """

    settings: Mapping[str, object]
    topic: str | None
    inputs: Sequence[str]
    form: LineForm | None
    delimiter: bytes
    whole_files: bool
    key: bytes | None
    headers: Headers
    partition: int | None
    keeps_partitions: bool
    timestamp_ms: int | None
    rate: float | None
    most: int | None
    commit_every: int | None
    reports: bool


def open_input(name: str, stack: ExitStack) -> BinaryIO:
    """Return an open file, or standard input. Raises CommandFailedError.

    Standard input has an object of its own: a thread may read it when the process ends, and Python
    aborts if another thread holds the lock of `sys.stdin` then.
    """
    if name == STDIN:
        try:
            return open(sys.stdin.fileno(), "rb", closefd=False)
        except OSError:  # replaced by a stream in memory
            return sys.stdin.buffer
    try:
        return stack.enter_context(open(name, "rb"))
    except OSError as error:
        raise CommandFailedError(f"{name}: {error.strerror}") from error


def source_name(name: str) -> str:
    """Return the name of an input for errors."""
    return "standard input" if name == STDIN else name
