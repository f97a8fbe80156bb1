"""Bugs to be found by the seeded runs: each replaces one function while its block runs.

They show that the checks of the simulation see what they should. A bug that no seed finds says that
a check, or the scenario, has become blind.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, Final

import trio

from trio_kafka.coordinators.shards.partition_log import PartitionLog
from trio_kafka.errors import KafkaError
from trio_kafka.log import producer_snapshots
from trio_kafka.log import segment as log_segment
from trio_kafka.log.log import Log
from trio_kafka.log.producer_state import ProducedBatch, ProducerState
from trio_kafka.log.recovery import partition as recovery
from trio_kafka.log.recovery import segment_loader, verify
from trio_kafka.log.recovery.segment_loader import SegmentLoader
from trio_kafka.log.segment import Segment
from trio_kafka.log.segment_file import SegmentFile
from trio_kafka.network.channel import RequestChannel
from trio_kafka.purgatory import Delayed, Purgatory
from trio_kafka.records.header import BatchHeader
from trio_kafka.world.protocols import File

Mutation = Callable[[], AbstractContextManager[None]]


@contextmanager
def replaced(owner: Any, name: str, value: object) -> Iterator[None]:
    """Replace an attribute of a class or module during the block."""
    before = vars(owner)[name]
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def answer_before_the_sync() -> AbstractContextManager[None]:
    """Log: a produce is acknowledged before its batch is durable."""
    return replaced(Log, "durable_end", property(lambda log: log.end_offset))


def show_before_the_sync() -> AbstractContextManager[None]:
    """Log: readers see batches before they are durable."""

    def commit_own(log: Log) -> None:
        log.high_watermark = log.end_offset

    return replaced(Log, "commit_own", commit_own)


def forget_the_sealed_segment() -> AbstractContextManager[None]:
    """Log: a segment is not synced when the next one begins."""
    sync = Segment.sync

    async def sync_active(segment: Segment) -> None:
        await (trio.sleep(0.01) if segment.sealed else sync(segment))

    return replaced(Segment, "sync", sync_active)


def find_the_next_batch() -> AbstractContextManager[None]:
    """Log: a read that begins with the last offset of a batch gets the batch behind it."""
    find = Segment.find_recent

    def find_later(segment: Segment, offset: int) -> Any:
        spot = find(segment, offset)
        if spot is not None and spot.last_offset == offset:
            return find(segment, offset + 1) or spot
        return spot

    return replaced(Segment, "find_recent", find_later)


def scan_past_the_batch() -> AbstractContextManager[None]:
    """Log: a scan of a sealed segment for the last offset of a batch finds the batch behind it."""
    find = log_segment.find_batch

    def find_later(file: File, position: int, offset: int) -> Any:
        spot = yield from find(file, position, offset)
        if spot is not None and spot.last_offset == offset:
            return (yield from find(file, spot.position, offset + 1)) or spot
        return spot

    return replaced(log_segment, "find_batch", find_later)


def repeat_an_offset() -> AbstractContextManager[None]:
    """Log: the offset after a batch of several records is one too low after a start."""
    load = SegmentLoader.load

    async def load_short(loader: SegmentLoader, bases: list[int]) -> None:
        await load(loader, bases)
        if loader.rebuilt and loader.end_offset > 1:
            loader.end_offset -= 1

    return replaced(SegmentLoader, "load", load_short)


def keep_the_torn_tail() -> AbstractContextManager[None]:
    """Recovery: the CRC of batches is not checked."""

    def scan(**options: Any) -> verify.BatchScan:
        return make(**{**options, "matching": False})

    make = verify.BatchScan
    return replaced(verify, "BatchScan", scan)


def leave_the_torn_tail() -> AbstractContextManager[None]:
    """Recovery: a segment is not cut after its last whole batch."""
    return replaced(SegmentFile, "truncate", lambda *_: None)


def leave_dropped_segments() -> AbstractContextManager[None]:
    """Recovery: the files of segments behind a torn one stay."""

    async def drop_nothing(*_: Any) -> None:
        await trio.lowlevel.checkpoint()

    return replaced(segment_loader, "unlink_segment", drop_nothing)


def cut_too_much() -> AbstractContextManager[None]:
    """Recovery: the last whole batch of an unclean log is cut."""
    check = segment_loader.check_segment

    async def check_less(segment: Segment, checked: Any, *arguments: Any, **more: Any) -> int:
        before = checked.end_offset
        end = await check(segment, checked, *arguments, **more)
        last = segment._recent[-1] if segment._recent else None
        if last is None or last[2] == 0:
            return end
        checked.end_offset = max(before, last[1])
        return last[2]

    return replaced(segment_loader, "check_segment", check_less)


def forget_producers() -> AbstractContextManager[None]:
    """Recovery: the producers of a log are forgotten at a start."""

    async def load_none(*_: Any, **__: Any) -> ProducerState:
        await trio.lowlevel.checkpoint()
        return ProducerState()

    return replaced(recovery, "load_producers", load_none)


def skip_the_replay() -> AbstractContextManager[None]:
    """Recovery: batches behind the producer snapshot are not noted."""

    def replay(*_: Any, **__: Any) -> Iterator[None]:
        yield from ()

    return replaced(producer_snapshots, "_replay", replay)


def accept_duplicates() -> AbstractContextManager[None]:
    """Sequences: a repeated batch is appended again."""
    check = ProducerState.check

    def check_none(state: ProducerState, header: BatchHeader) -> None:
        with suppress(KafkaError):
            check(state, header)

    return replaced(ProducerState, "check", check_none)


def expire_busy_producers() -> AbstractContextManager[None]:
    """Sequences: producers are forgotten however busy they are."""
    expire = ProducerState.expire
    return replaced(ProducerState, "expire", lambda state, _before: expire(state, 1 << 62))


def answer_a_duplicate_too_high() -> AbstractContextManager[None]:
    """Sequences: a repeated batch gets an offset one too high."""
    check = ProducerState.check

    def check_higher(state: ProducerState, header: BatchHeader) -> ProducedBatch | None:
        result = check(state, header)
        return result and result._replace(last_offset=result.last_offset + 1)

    return replaced(ProducerState, "check", check_higher)


def mark_one_watcher() -> AbstractContextManager[None]:
    """Purgatory: a change reaches the first operation that watches it, and no other."""

    def mark(purgatory: Purgatory, key: Any) -> None:
        for watcher in list(purgatory.watchers.get(key, ()))[:1]:
            watcher.marked(key)

    return replaced(Purgatory, "mark", mark)


def stay_queued() -> AbstractContextManager[None]:
    """Purgatory: an operation that was checked in vain is never checked again."""
    check = Purgatory.check

    def check_once(purgatory: Purgatory, delayed: Delayed) -> None:
        check(purgatory, delayed)
        delayed.queued = True

    return replaced(Purgatory, "check", check_once)


def miss_the_deadline() -> AbstractContextManager[None]:
    """Purgatory: an operation whose deadline is over does not enter its lane."""

    def expire(_: Purgatory, delayed: Delayed) -> None:
        delayed.timed_out = True

    return replaced(Purgatory, "_expire", expire)


def skip_the_wake() -> AbstractContextManager[None]:
    """Channel: a completion does not wake an idle handler."""

    def complete(channel: RequestChannel, delayed: Delayed) -> None:
        channel.completions.append(delayed)

    return replaced(RequestChannel, "complete", complete)


def drop_a_completion() -> AbstractContextManager[None]:
    """Channel: a second completion in the lane is lost."""
    complete = RequestChannel.complete

    def complete_first(channel: RequestChannel, delayed: Delayed) -> None:
        if not channel.completions:
            complete(channel, delayed)

    return replaced(RequestChannel, "complete", complete_first)


def keep_the_room_secret() -> AbstractContextManager[None]:
    """Channel: a processor that waits for room is not told of it."""
    return replaced(RequestChannel, "call_when_room", lambda _channel, _call: None)


def answer_commits_early() -> AbstractContextManager[None]:
    """Coordinator: a commit is answered before it is durable."""
    return replaced(PartitionLog, "committed", lambda _log, _written: True)


MUTATIONS: Final[tuple[Mutation, ...]] = (
    answer_before_the_sync,
    show_before_the_sync,
    forget_the_sealed_segment,
    find_the_next_batch,
    scan_past_the_batch,
    repeat_an_offset,
    keep_the_torn_tail,
    leave_the_torn_tail,
    leave_dropped_segments,
    cut_too_much,
    forget_producers,
    skip_the_replay,
    accept_duplicates,
    expire_busy_producers,
    answer_a_duplicate_too_high,
    mark_one_watcher,
    stay_queued,
    miss_the_deadline,
    skip_the_wake,
    drop_a_completion,
    keep_the_room_secret,
    answer_commits_early,
)
