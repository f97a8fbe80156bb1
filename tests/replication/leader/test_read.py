import pytest
import trio

from tests.records.kit import encode_marker
from tests.replication.kit import batch, content, make_cold, new_partition, state, want
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.log.retention import delete_before
from trio_kafka.log.rolling import roll, skip_in_thread
from trio_kafka.model import TopicPartition
from trio_kafka.records.control import Marker
from trio_kafka.replication.leader.append import append, append_own
from trio_kafka.replication.leader.delete_records import HIGH_WATERMARK, delete_records
from trio_kafka.replication.leader.offsets import LATEST, special_offset
from trio_kafka.replication.leader.read import (
    EpochEnd,
    Isolation,
    PartitionRead,
    read,
    read_in_threads,
)
from trio_kafka.replication.partition import Partition
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.protocols import File

UNCOMMITTED = Isolation.READ_UNCOMMITTED
ALL = 1 << 20


def look(
    partition: Partition,
    request,
    max_bytes: int = ALL,
    isolation: Isolation = UNCOMMITTED,
    *,
    at_least_one: bool = True,
) -> PartitionRead:
    return read(partition, request, max_bytes, isolation, at_least_one=at_least_one)


def refused(partition: Partition, request) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        look(partition, request)
    return caught.value.code


async def test_read_returns_committed_bytes_and_the_offsets_of_the_partition(world) -> None:
    partition, _ = new_partition(world, 1)
    append(partition, batch(2), acks=1)
    append(partition, batch(3), acks=1)

    result = look(partition, want(0))

    assert (result.high_watermark, result.last_stable_offset, result.start_offset) == (5, 5, 0)
    assert content(result) == partition.log.size


async def test_read_of_a_consumer_stops_at_the_high_watermark_unlike_that_of_a_follower(
    world,
) -> None:
    partition, _ = new_partition(world, 1, 2)
    append(partition, batch(2), acks=1)
    size = partition.log.size
    append(partition, batch(3), acks=1)
    partition.follower_fetched(2, 2)

    assert content(look(partition, want(0))) == size
    assert content(look(partition, want(0), isolation=Isolation.LOG_END)) == partition.log.size
    assert look(partition, want(2)).is_idle


async def test_read_below_the_start_offset_is_out_of_range(world) -> None:
    partition, _ = new_partition(world, 1)
    append(partition, batch(5), acks=1)
    partition.log.set_start_offset(3)

    assert refused(partition, want(2)) is ErrorCode.OFFSET_OUT_OF_RANGE
    assert content(look(partition, want(3))) == partition.log.size


async def test_a_log_that_has_failed_or_is_closed_is_not_read(world) -> None:
    failed, _ = new_partition(world, 1)
    closed, _ = new_partition(world, 1, at=TopicPartition("t", 1))
    for partition in failed, closed:
        append(partition, batch(5), acks=1)
    failed.log.failed = LogDirError("/data", "broken")
    closed.log.abandon()

    assert refused(failed, want(0)) is ErrorCode.KAFKA_STORAGE_ERROR
    assert refused(closed, want(0)) is ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_batch_larger_than_max_bytes_is_read_only_if_allowed(world) -> None:
    partition, _ = new_partition(world, 1)
    append(partition, batch(2), acks=1)

    assert content(look(partition, want(0), 10)) == partition.log.size
    kept = look(partition, want(0), 10, at_least_one=False)
    assert (kept.size, kept.more, kept.is_idle) == (0, True, False)


async def test_offsets_outside_of_the_log_are_out_of_range(world) -> None:
    partition, _ = new_partition(world, 1)
    append(partition, batch(2), acks=1)

    assert refused(partition, want(3)) is ErrorCode.OFFSET_OUT_OF_RANGE
    assert refused(partition, want(-1)) is ErrorCode.OFFSET_OUT_OF_RANGE
    assert look(partition, want(2)).is_idle


async def test_leader_epoch_of_the_reader_is_checked(world) -> None:
    partition, _ = new_partition(world, 1, epoch=3)

    assert refused(partition, want(0, leader_epoch=2)) is ErrorCode.FENCED_LEADER_EPOCH
    assert refused(partition, want(0, leader_epoch=4)) is ErrorCode.UNKNOWN_LEADER_EPOCH
    assert look(partition, want(0, leader_epoch=3)).is_idle


async def test_read_with_a_diverging_epoch_returns_the_end_of_the_common_epoch(world) -> None:
    partition, _ = new_partition(world, 1, epoch=1)
    append(partition, batch(2), acks=1)
    partition.update(state(1, epoch=4))
    append(partition, batch(2), acks=1)

    result = look(partition, want(3, last_fetched_epoch=1))
    assert result.diverging == EpochEnd(1, 2)
    assert result.range is None
    result = look(partition, want(3, last_fetched_epoch=3))
    assert result.diverging == EpochEnd(1, 2)
    result = look(partition, want(2, last_fetched_epoch=3))
    assert result.diverging == EpochEnd(1, 2)
    assert look(partition, want(4, last_fetched_epoch=4)).diverging is None
    assert refused(partition, want(3, last_fetched_epoch=5)) is ErrorCode.OFFSET_OUT_OF_RANGE


async def test_cold_bytes_are_read_in_threads_and_refused_without_waiting(world) -> None:
    partition, _ = new_partition(world, 1)
    append(partition, batch(2), acks=1)
    size = partition.log.size
    make_cold(partition)
    with pytest.raises(BlockingIOError):
        look(partition, want(0))

    result = await read_in_threads(partition, want(0), ALL, UNCOMMITTED)

    assert content(result) == size
    assert result.high_watermark == 2


async def test_read_committed_stops_before_an_open_transaction(world) -> None:
    partition, _ = new_partition(world, 1)
    append(partition, batch(2), acks=1)
    size = partition.log.size
    sent = {"producer_id": 7, "producer_epoch": 0, "transactional": True}
    append_own(partition, batch(2, base_sequence=0, **sent), acks=1)

    result = look(partition, want(0), isolation=Isolation.READ_COMMITTED)

    assert (result.high_watermark, result.last_stable_offset) == (4, 2)
    assert content(result) == size


async def test_read_committed_waits_at_the_start_above_the_beginning_of_an_open_transaction(
    world,
) -> None:
    """Without it a consumer with auto.offset.reset=latest would be out of range for ever."""
    partition, _ = new_partition(world, 1)
    sent = {"producer_id": 7, "producer_epoch": 0, "transactional": True}
    append_own(partition, batch(2, base_sequence=0, **sent), acks=1)
    append(partition, batch(3), acks=1)
    delete_records(partition, HIGH_WATERMARK)
    committed = Isolation.READ_COMMITTED

    latest = special_offset(partition, LATEST, committed)

    assert latest.offset == 5
    result = look(partition, want(latest.offset), isolation=committed)
    assert (result.is_idle, result.start_offset, result.last_stable_offset) == (True, 5, 5)
    assert look(partition, want(5)).last_stable_offset == 5


def abort_transaction(partition: Partition, sequence: int = 0) -> None:
    """Two records of a transaction, and the marker that aborts it."""
    sent = {"producer_id": 7, "producer_epoch": 0, "transactional": True}
    append_own(partition, batch(2, base_sequence=sequence, **sent), acks=1)
    marker = encode_marker(
        Marker(committed=False, coordinator_epoch=0),
        producer_id=7,
        producer_epoch=0,
        timestamp=0,
    )
    append_own(partition, memoryview(bytearray(marker)), acks=1)


async def test_read_committed_lists_the_aborted_transactions(world) -> None:
    partition, _ = new_partition(world, 1)
    abort_transaction(partition)
    append(partition, batch(1), acks=1)

    warm = look(partition, want(0), isolation=Isolation.READ_COMMITTED)
    plain = look(partition, want(0))
    after = look(partition, want(3), isolation=Isolation.READ_COMMITTED)
    make_cold(partition)
    cold = await read_in_threads(partition, want(0), ALL, Isolation.READ_COMMITTED)

    assert [(producer.producer_id, producer.first_offset) for producer in warm.aborted] == [(7, 0)]
    assert list(cold.aborted) == list(warm.aborted)
    assert (plain.aborted, list(after.aborted)) == (None, [])
    assert content(warm) == content(plain) == content(cold)
    after.release()


SMALL = {"segment_bytes": 400, "index_interval_bytes": 100}


def cold_partition(world, batches: int = 40) -> tuple[Partition, list[File]]:
    """A partition of many small segments that are not in the page cache, and their files."""
    partition, _ = new_partition(world, 1, **SMALL)
    for _ in range(batches):
        append(partition, batch(size=20), acks=1)
    make_cold(partition)
    return partition, [segment.file for segment in partition.log.segments]


@pytest.mark.parametrize("isolation", [UNCOMMITTED, Isolation.READ_COMMITTED])
async def test_read_during_a_removal_of_segments_keeps_no_lease(
    world, autojump_clock, isolation
) -> None:
    outcomes = set()
    for passes in range(60):  # the removal comes at each moment of the read
        partition, files = cold_partition(simulated_world(seed=passes))
        log = partition.log

        async def read_cold(partition=partition, log=log) -> None:
            try:
                result = await read_in_threads(partition, want(17), ALL, isolation)
            except KafkaError as error:
                outcomes.add(error.code)
            else:  # never bytes of a segment that is no longer in the log
                outcomes.add(content(result) > 0 and log.segments.first.base_offset <= 17)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(read_cold)
            await trio.sleep(passes * 0.0002)
            await delete_before(log, 20, trio.lowlevel.checkpoint)

        assert not [file for file in files if file.leased]
    assert outcomes == {True, ErrorCode.OFFSET_OUT_OF_RANGE}


async def test_cancelled_read_keeps_no_lease(world, autojump_clock) -> None:
    is_cancelled = set()
    for passes in range(60):
        partition, files = cold_partition(simulated_world(seed=passes))
        with trio.move_on_after(passes * 0.0002) as scope:
            content(await read_in_threads(partition, want(17), ALL, UNCOMMITTED))

        is_cancelled.add(scope.cancelled_caught)
        assert not [file for file in files if file.leased]
    assert is_cancelled == {True, False}


async def test_read_during_the_close_of_the_log_keeps_no_lease(world, autojump_clock) -> None:
    outcomes = set()
    for passes in range(60):
        partition, files = cold_partition(simulated_world(seed=passes))

        async def read_cold(partition=partition) -> None:
            try:
                outcomes.add(content(await read_in_threads(partition, want(17), ALL, UNCOMMITTED)))
            except KafkaError as error:
                outcomes.add(error.code)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(read_cold)
            await trio.sleep(passes * 0.0002)
            partition.log.abandon()

        assert not [file for file in files if file.leased]
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER in outcomes
    assert len(outcomes) == 2


async def test_aborted_records_behind_a_gap_at_the_end_of_a_segment_are_listed(
    world, autojump_clock
) -> None:
    """The list is that of the segment whose bytes are read, not of the one before the gap."""
    partition, _ = new_partition(world, 1, cleanup_policy=frozenset({"compact"}))
    append(partition, batch(1), acks=1)
    log = partition.log
    async with log.writer.turn("roll"):
        await skip_in_thread(log, 10)  # as if compaction had removed 1 to 9
    abort_transaction(partition)
    append(partition, batch(1), acks=1)

    at_segment = look(partition, want(10), isolation=Isolation.READ_COMMITTED)
    in_gap = look(partition, want(1), isolation=Isolation.READ_COMMITTED)

    assert [transaction.first_offset for transaction in at_segment.aborted] == [10]
    assert list(in_gap.aborted) == list(at_segment.aborted)
    assert content(in_gap) == content(at_segment) == log.segments.active.size


async def test_aborted_transactions_behind_the_returned_bytes_are_not_listed(
    world, autojump_clock
) -> None:
    """Otherwise each Fetch of a segment with 10,000 of them answers with 160 kB."""
    partition, _ = new_partition(world, 1, index_interval_bytes=400)
    for number in range(300):
        abort_transaction(partition, 2 * number)

    recent = look(partition, want(870), 250, isolation=Isolation.READ_COMMITTED)
    older = look(partition, want(30), 250, isolation=Isolation.READ_COMMITTED)
    make_cold(partition)
    cold = await read_in_threads(partition, want(30), 250, Isolation.READ_COMMITTED)

    assert [transaction.first_offset for transaction in recent.aborted] == [870, 873]
    assert [transaction.first_offset for transaction in older.aborted] == [
        30,
        33,
        36,
    ]  # up to an index entry
    assert list(cold.aborted) == list(older.aborted)
    assert content(recent) == content(older) == content(cold) == 250


async def test_aborted_transactions_of_other_segments_are_not_listed(world, autojump_clock) -> None:
    partition, _ = new_partition(world, 1)
    for sequence in (0, 2, 4):
        abort_transaction(partition, sequence)
        roll(partition.log)

    reads = [
        look(partition, want(offset), isolation=Isolation.READ_COMMITTED) for offset in (0, 3, 6)
    ]

    assert [[transaction.first_offset for transaction in read.aborted] for read in reads] == [
        [0],
        [3],
        [6],
    ]
    for result in reads:
        result.release()


async def test_consumer_gets_an_error_at_an_unreadable_batch_and_a_follower_gets_the_batch(
    world,
) -> None:
    partition, _ = new_partition(world, 1, 2)
    for _ in range(3):
        append(partition, batch(2), acks=1)
    log = partition.log
    roll(log)
    partition.follower_fetched(2, 6)
    log.segments.first.unreadable = {2: "offsets 2 to 3: the records end early"}

    assert content(look(partition, want(0))) == log.size
    for offset in (2, 3):
        for isolation in (UNCOMMITTED, Isolation.READ_COMMITTED):
            with pytest.raises(KafkaError, match="offsets 2 to 3") as caught:
                look(partition, want(offset), isolation=isolation)
            assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
    assert content(look(partition, want(4))) == log.size // 3
    # A follower copies the batch as it is.
    followed = look(partition, want(2), isolation=Isolation.LOG_END)
    assert content(followed) == log.size * 2 // 3
