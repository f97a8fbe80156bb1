import pytest
import trio

from tests.replication.kit import PEER, batch, new_partition, open_cluster, park, serve, state
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.log.append import Appended
from trio_kafka.log.durability.sync import sync
from trio_kafka.model import TopicPartition
from trio_kafka.purgatory import Delayed
from trio_kafka.records.batch import Record, encode_batch, read_header
from trio_kafka.replication.append_queue import Queued
from trio_kafka.replication.leader.append import append, append_acknowledged
from trio_kafka.replication.leader.produce_wait import NO_ACKS, ProduceWait, acknowledged
from trio_kafka.replication.settings import PartitionSettings
from trio_kafka.testing.simulation import fault_on


async def test_single_replica_acknowledges_acks_all_at_once(world) -> None:
    partition, _ = new_partition(world, 1)
    appended = append(partition, batch(2), acks=-1)

    assert ProduceWait(partition, appended).look()


@pytest.mark.parametrize("acks", [1, -1])
async def test_append_that_needs_a_flush_is_acknowledged_after_the_sync(world, acks: int) -> None:
    partition, marks = new_partition(world, 1, flush_messages=1)
    wait = ProduceWait(partition, append(partition, batch(2), acks=acks), acks)
    assert not wait.look()
    assert wait.is_local
    marks.clear()

    await sync(partition.log)

    assert marks == [partition]
    assert wait.look()


async def test_a_repeated_batch_waits_for_the_sync_of_the_first(world) -> None:
    partition, _ = new_partition(world, 1, flush_messages=1)
    fields = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    append(partition, batch(2, **fields), acks=1)

    again = append(partition, batch(2, **fields), acks=1)

    assert again.duplicate
    assert not ProduceWait(partition, again, 1).look()
    await sync(partition.log)
    assert ProduceWait(partition, again, 1).look()


async def test_produce_without_acks_all_does_not_wait_for_followers(world) -> None:
    partition, _ = new_partition(world, 1, 2)

    assert ProduceWait(partition, append(partition, batch(), acks=1), 1).look()


async def test_only_a_produce_with_acks_all_depends_on_followers(world) -> None:
    partition, _ = new_partition(world, 1, 2, flush_messages=1)
    appended = append(partition, batch(), acks=-1)

    assert not ProduceWait(partition, appended).is_local
    assert ProduceWait(partition, appended, 1).is_local


async def test_produce_is_acknowledged_when_every_replica_in_sync_has_the_batch(world) -> None:
    partition, _ = new_partition(world, 1, 2)
    append(partition, batch(2), acks=-1)

    assert not acknowledged(partition, 2)
    partition.follower_fetched(PEER, 1)
    assert not acknowledged(partition, 2)
    partition.follower_fetched(PEER, 2)
    assert acknowledged(partition, 2)


async def test_produce_fails_if_the_isr_has_shrunk_below_the_minimum_after_the_append(
    world,
) -> None:
    settings = PartitionSettings(min_insync_replicas=2)
    partition, _ = new_partition(world, 1, 2, settings=settings)
    append(partition, batch(2), acks=-1)
    partition.follower_fetched(PEER, 2)
    partition.update(state(1, replicas=(1, 2)))

    with pytest.raises(KafkaError) as caught:
        acknowledged(partition, 2)
    assert caught.value.code is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


async def test_produce_times_out_if_a_follower_is_late(world) -> None:
    partition, _ = new_partition(world, 1, 2)
    wait = ProduceWait(partition, append(partition, batch(), acks=-1))
    assert wait.keys == (partition,)
    assert wait.try_complete(False) is None

    with pytest.raises(KafkaError) as caught:
        wait.try_complete(True)
    assert caught.value.code is ErrorCode.REQUEST_TIMED_OUT
    partition.follower_fetched(PEER, 1)

    assert wait.try_complete(True).last_offset == 0


async def test_loss_of_leadership_and_deletion_end_the_wait_for_followers(world) -> None:
    for change, code in (
        (lambda p: p.update(state(1, 2, leader=2, epoch=1)), ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (lambda p: p.delete(), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ):
        at = TopicPartition(code.name, 0)
        partition, _ = new_partition(world, 1, 2, at=at)
        wait = ProduceWait(partition, append(partition, batch(), acks=-1))

        change(partition)

        with pytest.raises(KafkaError) as caught:
            wait.try_complete(False)
        assert caught.value.code is code


def queued(result=None) -> Queued:
    """

    import pytest
    import trio

    from tests.replication.kit import (
        LANE,
        batch,
        make_cold,
        names,
        open_cluster,
        park,
        refused,
        serve,
        state,
        want,
    )
    from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
    from trio_kafka.log.append import Appended
    from trio_kafka.log.durability.sync import sync
    from trio_kafka.model import TopicId
    from trio_kafka.purgatory import Delayed
    from trio_kafka.replication.leader.append import append, append_acknowledged
    from trio_kafka.replication.leader.fetch import FetchAnswer, FetchLimits
    from trio_kafka.testing.simulation import fault_on, run_until_crash
    An append that waits for its turn, or had it."""
    return Queued(
        batch=memoryview(b""),
        header=read_header(encode_batch([Record()])),
        leader_epoch=0,
        needs_all=False,
        since=0.0,
        result=result,
    )


async def test_queued_produce_waits_for_its_append_and_then_for_the_followers(world) -> None:
    partition, _ = new_partition(world, 1, 2)
    item = queued()
    wait = ProduceWait(partition, item)
    assert not wait.look()
    assert wait.keys == (item, partition.loss)

    item.result = append(partition, batch(2), acks=-1)
    assert wait.try_complete(False) is None
    assert wait.keys == (partition,)
    assert wait.try_complete(False) is None
    partition.follower_fetched(PEER, 2)

    assert wait.try_complete(False) is item.result


async def test_queued_produce_without_acks_waits_for_its_append_only(world) -> None:
    partition, _ = new_partition(world, 1, flush_messages=1)
    item = queued()
    wait = ProduceWait(partition, item, NO_ACKS)
    assert not wait.look()
    assert wait.is_local

    item.result = append(partition, batch(2), acks=0)

    assert wait.look()


async def test_error_of_a_queued_append_is_the_result_of_the_produce(world) -> None:
    partition, _ = new_partition(world, 1)
    refused = KafkaError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    wait = ProduceWait(partition, queued(refused))

    with pytest.raises(KafkaError) as caught:
        wait.try_complete(False)

    assert caught.value is refused


async def test_queued_produce_fails_at_once_if_its_partition_is_deleted(world) -> None:
    partition, _ = new_partition(world, 1)
    wait = ProduceWait(partition, queued(), 1)
    assert not wait.look()

    partition.delete()

    with pytest.raises(KafkaError) as caught:
        wait.try_complete(False)
    assert caught.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_produce_still_queued_at_its_deadline_times_out(world) -> None:
    partition, _ = new_partition(world, 1)
    wait = ProduceWait(partition, queued(), 1)

    with pytest.raises(KafkaError) as caught:
        wait.try_complete(True)

    assert caught.value.code is ErrorCode.REQUEST_TIMED_OUT


def produce_batch(partition, *, acks: int, timeout_s: float = 5.0) -> Appended | Delayed:
    return append_acknowledged(partition, batch(), acks=acks, zstd=True, timeout_s=timeout_s)


async def test_produce_with_acks_all_waits_for_followers(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1, 2)}, u={0: state(1)})
    replicated, alone = (cluster.replicas.partition(name, 0) for name in "tu")
    assert produce_batch(alone, acks=-1).first_offset == 0
    done = park(produce_batch(replicated, acks=-1))

    replicated.follower_fetched(2, 1)
    serve()

    assert [appended.first_offset for appended in done] == [0]


async def test_produce_waits_for_a_sync_longer_than_its_timeout(world, autojump_clock) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})
    cluster.configure("t", flush_messages="1")
    partition = cluster.replicas.partition("t", 0)
    delayed = produce_batch(partition, acks=1, timeout_s=0.0)
    done = park(delayed)
    assert delayed.deadline >= trio.current_time() + 30

    await sync(partition.log)
    serve()

    assert [appended.first_offset for appended in done] == [0]


async def test_failed_sync_fails_the_waiting_produce(world, autojump_clock) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})
    cluster.configure("t", flush_messages="1")
    partition = cluster.replicas.partition("t", 0)
    done = park(produce_batch(partition, acks=1, timeout_s=1.0))
    world.universe.fault = fault_on("sync", OSError(5, "EIO"), ".log")

    with pytest.raises(LogDirError):
        await sync(partition.log)
    serve()

    assert [error.code for error in done] == [ErrorCode.KAFKA_STORAGE_ERROR]
