"""Loading of a shard: its whole log is replayed into its machine, in slices.

A record of an unknown type was written by a newer broker and is skipped. An unreadable record or
batch is skipped and logged with its offset, so that the other groups are served; Kafka gives up the
whole partition.
"""

from collections.abc import Callable, Iterator
from typing import Final, Protocol

import trio

from trio_kafka.attributes import define
from trio_kafka.coordinators.shards.effects import CoordinatorRecord
from trio_kafka.coordinators.shards.record_codec import RecordCodec, UnknownTypeError
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.log.log import Log
from trio_kafka.log.read import read_bytes
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.records.batch import Record, check_crc, read_records
from trio_kafka.records.control import read_marker
from trio_kafka.records.header import NO_PRODUCER_ID, TRANSACTIONAL, BatchHeader, iterate_and_check
from trio_kafka.scheduling.chunked_work import Steps, advance

SLICE_S: Final = 0.0005  # others wait meanwhile; a pass of the loop costs 0.03 ms
_READ: Final = 1 << 18  # bytes of one read: 0.2 ms; the setting's 5 MB take 4
_STEP: Final = 20  # records between two readings of the clock
_LOGGED: Final = 10  # broken records of one load that are logged one by one
_logger: Final = get_logger(__name__)


class LoadableMachine(Protocol):
    """A machine that can be loaded, see `Machine`."""

    def replay(self, record: CoordinatorRecord) -> None:
        """Apply a record."""

    def replay_transactional(self, producer_id: int, record: CoordinatorRecord) -> None:
        """Apply a record of a transaction that is open until its marker."""

    def end_transaction(self, producer_id: int, *, committed: bool) -> Steps[None]:
        """Apply the marker that ends a producer's transaction."""


@define
class LoadResult:
    """Result of a load. end: offset behind the last record that was read."""

    end: int = 0
    records: int = 0
    bytes: int = 0
    unknown: int = 0
    broken: int = 0
    took_s: float = 0.0


async def load(
    find_log: Callable[[], Log],
    machine: LoadableMachine,
    codec: RecordCodec,
    *,
    name: str,
    buffer: int,
    elapsed: Callable[[], float],
) -> LoadResult:
    """Replay the whole log, including what is appended meanwhile. buffer: bytes of one read, at
    most.

    find_log: returns the log, which is another one after the replica has moved to another
        directory. Raises KafkaError.
    Raises KafkaError, LogDirError as `read_bytes`.
    """
    began = elapsed()
    log = find_log()
    loaded = LoadResult(end=log.start_offset)
    while loaded.end < log.end_offset:
        try:
            content = await read_bytes(log, loaded.end, min(buffer, _READ))
        except KafkaError:
            if not log.closed or find_log() is log:
                raise
            log = find_log()
            continue
        if not content:
            break
        await trio.lowlevel.checkpoint()
        before = loaded.end
        loaded.bytes += len(content)
        steps = _replay(content, _Replay(machine, codec, loaded, name))
        while advance(steps, elapsed, elapsed() + SLICE_S) is None:
            await trio.lowlevel.checkpoint()
        await trio.lowlevel.checkpoint()
        if loaded.end == before:
            message = f"{name}: found no batch at offset {before}"
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, message)
    loaded.took_s = elapsed() - began
    return loaded


@define
class _Replay:
    """Replay of one shard's log. name: of the shard."""

    machine: LoadableMachine
    codec: RecordCodec
    result: LoadResult
    name: str


def _replay(content: bytes, replay: _Replay) -> Steps[None]:
    """Replay whole batches."""
    for position, header, is_checked in iterate_and_check(content):
        try:
            if not is_checked:
                check_crc(content, position, header)
            records = read_records(content, position, header)
            if header.is_control:
                yield from _replay_markers(records, header, replay.machine)
            else:
                yield from _replay_records(records, header, replay)
        except KafkaError as error:
            _skip(replay, header.base_offset, error)
        replay.result.end = header.next_offset
        yield


def _replay_records(records: Iterator[Record], header: BatchHeader, replay: _Replay) -> Steps[None]:
    machine, decode, result = replay.machine, replay.codec.decode, replay.result
    transactional = header.attributes & TRANSACTIONAL and header.producer_id != NO_PRODUCER_ID
    for number, record in enumerate(records, 1):
        result.records += 1
        try:
            decoded = decode(record.key or b"", record.value)
        except UnknownTypeError as error:
            result.unknown += 1
            _logger.warning(
                "record of unknown type skipped; was an upgrade rolled back?",
                shard=replay.name,
                offset=record.offset,
                reason=str(error),
            )
            continue
        except DecodeError as error:
            _skip(replay, record.offset, error)
            continue
        if transactional:
            machine.replay_transactional(header.producer_id, decoded)
        else:
            machine.replay(decoded)
        if number % _STEP == 0:
            yield


def _replay_markers(
    records: Iterator[Record], header: BatchHeader, machine: LoadableMachine
) -> Steps[None]:
    for record in records:
        marker = read_marker(record)
        if marker is not None:
            yield from machine.end_transaction(header.producer_id, committed=marker.committed)


def _skip(replay: _Replay, offset: int, error: Exception) -> None:
    """Count an unreadable record or batch, and log the first ones."""
    result = replay.result
    result.broken += 1
    if result.broken <= _LOGGED:
        _logger.error(
            "unreadable record skipped", shard=replay.name, offset=offset, reason=str(error)
        )
