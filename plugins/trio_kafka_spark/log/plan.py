"""Plan the pieces of a read: partitions, offset ranges, splits, transactions.

Runs once for a query, on the driver. What it found is fixed: a task that runs again, even after the
log has grown, reads the same records.
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

import attrs

from trio_kafka.attributes import frozen
from trio_kafka.model import TopicPartition
from trio_kafka_spark.client.errors import OptionError, SourceError
from trio_kafka_spark.log.directories import (
    PartitionDirectory,
    find_partitions,
    list_segments,
)
from trio_kafka_spark.log.options import EARLIEST, LATEST, LogOptions, Offsets
from trio_kafka_spark.log.splits import Piece, packed, partition_pieces, with_aborted
from trio_kafka_spark.log.transactions import Transactions, transactions
from trio_kafka_spark.log.windows import BadBytes, OnBad

_FIRST: Final = 0
_ALL: Final = 1 << 62
_LISTINGS: Final = 5  # while segments come and go


class CorruptLogError(SourceError):
    """A segment file has bytes that are no batch, in a place that cannot still be written."""

    def __init__(self, bad: BadBytes) -> None:
        RuntimeError.__init__(self, bad)
        self.condition = "KAFKA_CORRUPT_RECORDS"
        self.bad = bad
        self.message = (
            f"{bad}; set mode to permissive to skip damaged places, and read view=errors to list"
            " them"
        )


@frozen(kw_only=True)
class Range:
    """Offsets [start, stop) of a partition's directory."""

    partition: PartitionDirectory
    start: int
    stop: int


def refuse(bad: BadBytes) -> None:
    """Raise CorruptLogError for a damaged place: what mode=failfast does."""
    raise CorruptLogError(bad)


def skip(bad: BadBytes) -> None:
    """Go on behind a damaged place: what mode=permissive does."""
    del bad


def on_bad_of(options: LogOptions) -> OnBad:
    """Return the function that takes damaged places, by the option `mode`."""
    return skip if options.permissive or options.view == "errors" else refuse


def plan_ranges(options: LogOptions) -> list[Range]:
    """Return the offset ranges to read. Raises OptionError, SourceError, OSError."""
    partitions = find_partitions(options.path, options.wants)
    names = [partition.at for partition in partitions]
    _check_found(options, names)
    for option, offsets in (
        ("startingOffsets", options.starting_offsets),
        ("endingOffsets", options.ending_offsets),
    ):
        _check_named(option, offsets, names)
    return [_range(options, partition) for partition in partitions]


def plan_pieces(options: LogOptions) -> list[tuple[Piece, ...]]:
    """Return the pieces of a read, put together into one tuple for each task."""
    pieces: list[Piece] = []
    for range_ in plan_ranges(options):
        mine = list(
            partition_pieces(
                range_.partition,
                start=range_.start,
                stop=range_.stop,
                split_bytes=options.split_bytes,
            )
        )
        if options.fail_on_data_loss:
            _check_end(range_, mine)
        if options.read_committed and options.view == "records":
            mine = _committed(range_, mine, options)
        pieces += mine
    return packed(pieces, options.split_bytes)


def _check_found(options: LogOptions, names: Collection[TopicPartition]) -> None:
    topics = {at.topic for at in names}
    missing = [topic for topic in options.subscribe if topic not in topics]
    missing += [str(at) for at in options.assign if at not in names]
    if missing:
        raise SourceError(
            "KAFKA_UNKNOWN_TOPIC",
            f"no directory of {', '.join(sorted(missing))} in {', '.join(options.path)}: check the "
            "names, and give all of the broker's log.dirs as `path`",
        )


def _check_named(option: str, offsets: Offsets, names: Collection[TopicPartition]) -> None:
    if isinstance(offsets, int):
        return
    strange = sorted(str(at) for at in offsets if at not in names)
    if strange:
        raise OptionError(option, f"names {', '.join(strange)}, which is not among those to read")


def _range(options: LogOptions, partition: PartitionDirectory) -> Range:
    start = _offset(options.starting_offsets, partition.at, EARLIEST)
    stop = _offset(options.ending_offsets, partition.at, LATEST)
    if start == LATEST:
        start = _ALL
    first = partition.start_offset
    if options.fail_on_data_loss and _FIRST <= start < first:
        raise SourceError(
            "KAFKA_DATA_LOSS",
            f"{partition.at} begins at offset {first}, startingOffsets wants {start}: its records "
            "were deleted; set failOnDataLoss to false to begin with what is left",
        )
    return Range(
        partition=partition,
        start=max(start, first),
        stop={LATEST: _ALL, EARLIEST: first}.get(stop, stop),
    )


def _offset(offsets: Offsets, at: TopicPartition, default: int) -> int:
    return offsets if isinstance(offsets, int) else offsets.get(at, default)


def _check_end(range_: Range, pieces: Sequence[Piece]) -> None:
    end = pieces[-1].stop if pieces else range_.start
    if range_.start < range_.stop != _ALL and end < range_.stop:
        raise SourceError(
            "KAFKA_DATA_LOSS",
            f"{range_.partition.at} ends at offset {end}, endingOffsets wants {range_.stop}: set "
            "failOnDataLoss to false to end with what is there",
        )


def _committed(range_: Range, pieces: list[Piece], options: LogOptions) -> list[Piece]:
    """Return the pieces up to the oldest open transaction, with the aborted ones noted."""
    transactions_ = _transactions(range_.partition, options)
    stable = _ALL if transactions_.stable_offset is None else transactions_.stable_offset
    return [
        with_aborted(piece, transactions_.aborted)
        for whole in pieces
        if (piece := _until(whole, stable)) is not None
    ]


def _transactions(partition: PartitionDirectory, options: LogOptions) -> Transactions:
    """Return the transactions of a partition, listed again while its segments are replaced."""
    on_bad = on_bad_of(options)
    for _ in range(_LISTINGS):
        pieces = list(
            partition_pieces(partition, start=_FIRST, stop=_ALL, split_bytes=options.split_bytes)
        )
        try:
            return transactions(pieces, on_bad)
        except FileNotFoundError:
            segments = list_segments(Path(partition.path))
            partition = attrs.evolve(partition, segments=tuple(segments))
    raise SourceError(
        "KAFKA_DATA_LOSS",
        f"{partition.path} changed {_LISTINGS} times while its transactions were read: read again"
        " when fewer segments are deleted or compacted",
    )


def _until(piece: Piece, offset: int) -> Piece | None:
    """Return the part of a piece below an offset; None: there is none."""
    if offset <= piece.start:
        return None
    return attrs.evolve(piece, stop=min(piece.stop, offset))
