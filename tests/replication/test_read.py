import pytest

from tests.records.kit import encode_marker
from tests.replication.kit import batch, content, make_cold, new_partition, state, want
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.model import TopicPartition
from trio_kafka.records.control import Marker
from trio_kafka.replication.append import append, append_own
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.read import EpochEnd, Isolation, PartitionRead, read, read_in_threads

UNCOMMITTED = Isolation.READ_UNCOMMITTED
ALL = 1 << 20


def look(
    partition: Partition,
    wanted,
    max_bytes: int = ALL,
    isolation: Isolation = UNCOMMITTED,
    *,
    at_least_one: bool = True,
) -> PartitionRead:
    return read(partition, wanted, max_bytes, isolation, at_least_one=at_least_one)


def refused(partition: Partition, wanted) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        look(partition, wanted)
    return caught.value.code


async def test_a_reader_gets_what_is_committed_and_what_is_around_it(world) -> None:
    partition, _ = new_partition(world, 1)
    append(partition, batch(2), acks=1)
    append(partition, batch(3), acks=1)

    found = look(partition, want(0))

    assert (found.high_watermark, found.last_stable_offset, found.start_offset) == (5, 5, 0)
    assert content(found) == partition.log.size


async def test_a_reader_stops_at_the_high_watermark_and_a_follower_does_not(world) -> None:
    partition, _ = new_partition(world, 1, 2)
    append(partition, batch(2), acks=1)
    one = partition.log.size
    append(partition, batch(3), acks=1)
    partition.follower_fetched(2, 2)

    assert content(look(partition, want(0))) == one
    assert content(look(partition, want(0), isolation=Isolation.LOG_END)) == partition.log.size
    assert look(partition, want(2)).is_idle


async def test_below_the_start_of_the_log_nothing_is_read(world) -> None:
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


async def test_the_first_batch_comes_whole_and_only_if_it_may(world) -> None:
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


async def test_the_readers_leader_epoch_is_checked(world) -> None:
    partition, _ = new_partition(world, 1, epoch=3)

    assert refused(partition, want(0, leader_epoch=2)) is ErrorCode.FENCED_LEADER_EPOCH
    assert refused(partition, want(0, leader_epoch=4)) is ErrorCode.UNKNOWN_LEADER_EPOCH
    assert look(partition, want(0, leader_epoch=3)).is_idle


async def test_a_fetcher_that_went_another_way_learns_where(world) -> None:
    partition, _ = new_partition(world, 1, epoch=1)
    append(partition, batch(2), acks=1)
    partition.update(state(1, epoch=4))
    append(partition, batch(2), acks=1)

    found = look(partition, want(3, last_fetched_epoch=1))
    assert found.diverging == EpochEnd(1, 2)
    assert found.range is None
    found = look(partition, want(3, last_fetched_epoch=3))
    assert found.diverging == EpochEnd(1, 2)
    found = look(partition, want(2, last_fetched_epoch=3))
    assert found.diverging == EpochEnd(1, 2)
    assert look(partition, want(4, last_fetched_epoch=4)).diverging is None
    assert refused(partition, want(3, last_fetched_epoch=5)) is ErrorCode.OFFSET_OUT_OF_RANGE


async def test_what_is_cold_is_read_by_waiting(world) -> None:
    partition, _ = new_partition(world, 1)
    append(partition, batch(2), acks=1)
    size = partition.log.size
    make_cold(partition)
    with pytest.raises(BlockingIOError):
        look(partition, want(0))

    found = await read_in_threads(partition, want(0), ALL, UNCOMMITTED)

    assert content(found) == size
    assert found.high_watermark == 2


async def test_read_committed_stops_before_an_open_transaction(world) -> None:
    partition, _ = new_partition(world, 1)
    append(partition, batch(2), acks=1)
    size = partition.log.size
    sent = {"producer_id": 7, "producer_epoch": 0, "transactional": True}
    append_own(partition, batch(2, base_sequence=0, **sent), acks=1)

    found = look(partition, want(0), isolation=Isolation.READ_COMMITTED)

    assert (found.high_watermark, found.last_stable_offset) == (4, 2)
    assert content(found) == size


async def test_read_committed_is_told_which_transactions_were_aborted(world) -> None:
    partition, _ = new_partition(world, 1)
    sent = {"producer_id": 7, "producer_epoch": 0, "transactional": True}
    append_own(partition, batch(2, base_sequence=0, **sent), acks=1)
    marker = encode_marker(
        Marker(committed=False, coordinator_epoch=0),
        producer_id=7,
        producer_epoch=0,
        timestamp=0,
    )
    append_own(partition, memoryview(bytearray(marker)), acks=1)
    append(partition, batch(1), acks=1)

    warm = look(partition, want(0), isolation=Isolation.READ_COMMITTED)
    plain = look(partition, want(0))
    after = look(partition, want(3), isolation=Isolation.READ_COMMITTED)
    make_cold(partition)
    cold = await read_in_threads(partition, want(0), ALL, Isolation.READ_COMMITTED)

    assert [(one.producer_id, one.first_offset) for one in warm.aborted] == [(7, 0)]
    assert cold.aborted == warm.aborted
    assert (plain.aborted, after.aborted) == ((), ())
    assert content(warm) == content(plain) == content(cold)
    after.release()
