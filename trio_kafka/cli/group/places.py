"""Where a group is moved to: the values of `group seek --to`, and of its CSV files."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.records.times import time_option
from trio_kafka.clients.admin.records import EARLIEST, LATEST, OffsetSpec, for_timestamp
from trio_kafka.clients.blocking import BlockingAdmin
from trio_kafka.model import TopicPartition

_COLUMNS: Final = 3


@frozen(kw_only=True)
class Target:
    """A place in each partition: exactly one field is not None.

    spec: of ListOffsets. shift: records from the committed offset. offset: exact.
    """

    spec: OffsetSpec | None = None
    shift: int | None = None
    offset: int | None = None


def parse_target(text: str) -> Target:
    """Return the place for earliest, latest, +N, -N, an offset or `@TIME`.

    Raises CommandFailedError.
    """
    if text == "earliest":
        return Target(spec=EARLIEST)
    if text == "latest":
        return Target(spec=LATEST)
    if text.startswith("@"):
        return Target(spec=for_timestamp(time_option("--to", text[1:])))
    digits = text.removeprefix("+").removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(text) - len(digits) > 1:
        raise CommandFailedError(
            f"--to {text}: want earliest, latest, an offset, +N or -N records, or @TIME"
        )
    is_shift = text != digits
    return Target(shift=int(text)) if is_shift else Target(offset=int(text))


def new_offsets(
    admin: BlockingAdmin,
    places: Sequence[TopicPartition],
    target: Target,
    committed: Mapping[TopicPartition, int | None],
) -> dict[TopicPartition, int]:
    """Return the offset of each partition, within its log.

    A time after the last record is the end, and a shift begins at the committed offset. Raises
    CommandFailedError for a shift without a committed offset.
    """
    firsts, ends = (
        admin.list_offsets(dict.fromkeys(places, spec)).all() for spec in (EARLIEST, LATEST)
    )
    at_spec = (
        {} if target.spec is None else admin.list_offsets(dict.fromkeys(places, target.spec)).all()
    )
    offsets = {}
    for at in places:
        if target.spec is not None:
            offset = at_spec[at].offset
            if offset < 0:  # no record is that young
                offset = ends[at].offset
        elif target.shift is not None:
            before = committed.get(at)
            if before is None:
                raise CommandFailedError(
                    f"{at.topic}-{at.partition}: the group has no offset there to shift"
                )
            offset = before + target.shift
        else:
            offset = target.offset or 0
        offsets[at] = min(max(offset, firsts[at].offset), ends[at].offset)
    return offsets


def read_csv(path: str) -> dict[TopicPartition, int]:
    """Return the offsets of a file with `topic,partition,offset` lines, as Kafka's tool writes it.

    Raises CommandFailedError, which names the line.
    """
    try:
        with open(path, encoding="utf-8", newline="") as stream:
            text = stream.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "the file is not UTF-8"
        raise CommandFailedError(f"{path}: {reason}") from error
    offsets = {}
    for number, row in enumerate(csv.reader(io.StringIO(text)), 1):
        if not row:
            continue
        cells = [cell.strip() for cell in row]
        if len(cells) != _COLUMNS or not all(cell.isdecimal() for cell in cells[1:]):
            raise CommandFailedError(f"{path}: line {number}: want topic,partition,offset")
        offsets[TopicPartition(cells[0], int(cells[1]))] = int(cells[2])
    if not offsets:
        raise CommandFailedError(f"{path}: no line with topic,partition,offset")
    return offsets
