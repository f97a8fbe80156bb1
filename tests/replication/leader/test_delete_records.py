import pytest
import trio

from tests.replication.kit import (
    PEER,
    batch,
    new_partition,
    open_cluster,
    park,
    serve,
    state,
)
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import TopicPartition
from trio_kafka.purgatory import Delayed
from trio_kafka.replication.leader.append import append
from trio_kafka.replication.leader.delete_records import (
    HIGH_WATERMARK,
    delete_everywhere,
    delete_records,
)


async def test_deletion_of_records_raises_the_start_offset(world) -> None:
    partition, marks = new_partition(world, 1)
    append(partition, batch(5), acks=1)
    marks.clear()

    assert delete_records(partition, 3) == 3

    assert partition.log.start_offset == 3
    assert marks == [partition]
    assert delete_records(partition, 1) == 1
    assert partition.log.start_offset == 3
    assert delete_records(partition, HIGH_WATERMARK) == 5


@pytest.mark.parametrize("offset", [-2, 6])
async def test_deletion_up_to_an_uncommitted_offset_is_out_of_range(world, offset: int) -> None:
    partition, _ = new_partition(world, 1)
    append(partition, batch(5), acks=1)

    with pytest.raises(KafkaError) as caught:
        delete_records(partition, offset)
    assert caught.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert partition.log.start_offset == 0


async def test_deletion_of_records_is_refused_for_a_compacted_topic(world) -> None:
    partition, _ = new_partition(world, 1, cleanup_policy=frozenset({"compact"}))

    with pytest.raises(KafkaError) as caught:
        delete_records(partition, 0)
    assert caught.value.code is ErrorCode.POLICY_VIOLATION


@pytest.mark.parametrize("policy", [set(), {"delete"}, {"compact", "delete"}])
async def test_records_of_a_topic_that_is_not_only_compacted_are_deleted(
    world, policy: set[str]
) -> None:
    partition, _ = new_partition(world, 1, cleanup_policy=frozenset(policy))
    append(partition, batch(5), acks=1)

    assert delete_records(partition, 3) == 3

    assert partition.log.start_offset == 3


async def test_deletion_of_records_is_refused_for_an_internal_topic(world) -> None:
    partition, _ = new_partition(world, 1, at=TopicPartition("__consumer_offsets", 0))

    with pytest.raises(KafkaError) as caught:
        delete_records(partition, 0)
    assert caught.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION


async def test_deletion_waits_for_the_start_offset_of_followers_in_sync(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1, 2)})
    partition = cluster.replicas.partition("t", 0)
    append(partition, batch(5), acks=1)
    partition.follower_fetched(PEER, 5, 0)

    answer = delete_everywhere(partition, 3, 1.0)
    assert isinstance(answer, Delayed)
    done = park(answer)
    (wait,) = answer.waits(trio.current_time())
    assert (wait.words, wait.has, wait.needs) == (
        "all replicas of t-0 to hide the records below 3",
        0,
        3,
    )

    partition.follower_fetched(PEER, 5, 2)
    serve()
    assert done == []
    partition.follower_fetched(PEER, 5, 3)
    serve()
    assert done == [3]


async def test_deletion_that_times_out_still_raises_the_start_offset(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1, 2)})
    partition = cluster.replicas.partition("t", 0)
    append(partition, batch(5), acks=1)
    partition.follower_fetched(PEER, 5, 0)

    answer = delete_everywhere(partition, 3, 1.0)
    done = park(answer)
    answer.timed_out = True
    answer.marked()
    serve()

    assert [(error.code, error.low_watermark) for error in done] == [
        (ErrorCode.REQUEST_TIMED_OUT, 0)
    ]
    assert partition.log.start_offset == 3


async def test_deletion_fails_when_the_partition_gets_another_leader(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1, 2)})
    partition = cluster.replicas.partition("t", 0)
    append(partition, batch(5), acks=1)
    partition.follower_fetched(PEER, 5, 0)

    done = park(delete_everywhere(partition, 3, 1.0))
    cluster.change(t={0: state(1, 2, leader=2, epoch=1)})
    serve()

    assert [error.code for error in done] == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
