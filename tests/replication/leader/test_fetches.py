"""Fetches are parked until there is what they want, with a session or without."""

import pytest
import trio

from tests.replication.kit import (
    LANE,
    batch,
    make_cold,
    open_cluster,
    park,
    serve,
    state,
    want,
)
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import TopicId
from trio_kafka.purgatory import Delayed
from trio_kafka.replication.leader.append import append
from trio_kafka.replication.leader.fetch import FetchAnswer, FetchLimits
from trio_kafka.replication.leader.fetches import COLD_WAIT_S, readable, readable_by_none


@pytest.fixture(autouse=True)
def _empty_lane() -> None:
    LANE.clear()


def fetch(cluster, *topics: str, **arguments) -> FetchAnswer | Delayed:
    expected = {(cluster.topic_id(topic), 0): want() for topic in topics}
    limits = arguments.pop("limits", FetchLimits())
    return cluster.replication.fetches.begin(expected, limits, **arguments)


async def test_waiting_fetch_is_completed_by_an_append(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)}, u={0: state(1)})
    delayed = fetch(cluster, "t", "u", session_epoch=0)
    done = park(delayed)

    append(cluster.replicas.partition("u", 0), batch(), acks=1)
    serve()

    (answer,) = done
    assert [part.size > 0 for _, part in answer.parts] == [False, True]
    answer.release()


async def test_incremental_fetch_names_only_changed_partitions(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)}, u={0: state(1)})
    first = fetch(cluster, "t", "u", session_epoch=0, limits=FetchLimits(max_wait_s=0))
    session_id = first.session_id
    append(cluster.replicas.partition("u", 0), batch(), acks=1)

    answer = fetch(cluster, session_id=session_id, session_epoch=1)

    ((key, part),) = answer.parts
    assert key == (cluster.topic_id("u"), 0)
    part.release()
    late = fetch(cluster, session_id=session_id, session_epoch=1)
    assert late.error.code is ErrorCode.INVALID_FETCH_SESSION_EPOCH


async def test_append_completes_an_incremental_fetch_that_names_no_partitions(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(**{f"t{n}": {0: state(1)} for n in range(20)})
    everything = [f"t{n}" for n in range(20)]
    first = fetch(cluster, *everything, session_epoch=0, limits=FetchLimits(max_wait_s=0))

    delayed = fetch(cluster, session_id=first.session_id, session_epoch=1)
    done = park(delayed)
    assert delayed.keys == []
    append(cluster.replicas.partition("t7", 0), batch(), acks=1)
    serve()

    ((key, part),) = done[0].parts
    assert key == (cluster.topic_id("t7"), 0)
    part.release()


async def test_deletion_of_a_topic_ends_a_waiting_fetch(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})
    done = park(fetch(cluster, "t"))

    cluster.change(t=None)
    serve()

    ((_, part),) = done[0].parts
    assert part.error.code is ErrorCode.UNKNOWN_TOPIC_ID


async def test_leases_outlive_the_deletion_of_their_topic(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})
    append(cluster.replicas.partition("t", 0), batch(), acks=1)
    answer = fetch(cluster, "t")

    cluster.change(t=None)

    ((_, part),) = answer.parts
    assert not part.range.lease.cut
    assert part.range.lease.end == part.size
    answer.release()


async def test_unauthorized_fetch_gets_an_authorization_error(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})

    def resolve(_):
        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)

    ((_, part),) = fetch(cluster, "t", resolve=resolve).parts
    assert part.error.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.parametrize("min_bytes", [0, 1])
async def test_fetch_without_max_wait_gets_cold_bytes(
    world, nursery, autojump_clock, min_bytes: int
) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})
    partition = cluster.replicas.partition("t", 0)
    append(partition, batch(), acks=1)
    size = partition.log.size
    make_cold(partition)
    await nursery.start(cluster.replication.run)

    limits = FetchLimits(max_wait_s=0, min_bytes=min_bytes)
    delayed = fetch(cluster, "t", limits=limits)
    assert delayed.deadline == trio.current_time() + COLD_WAIT_S
    done = park(delayed)
    await trio.sleep(0.5)
    serve()

    assert done[0].size == size
    done[0].release()


async def test_permission_is_asked_once_for_each_topic_of_a_fetch(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1), 1: state(1)}, u={0: state(1)})
    names: list[str] = []

    def may_read(name: str) -> bool:
        names.append(name)
        return name == "t"

    resolve = readable(cluster.replicas, may_read)
    t, u = cluster.topic_id("t"), cluster.topic_id("u")

    assert resolve((t, 0)) is cluster.replicas.partition("t", 0)
    assert resolve(("t", 1)) is cluster.replicas.partition("t", 1)
    assert [error_of(resolve, (u, number)) for number in (0, 1)] == [
        ErrorCode.TOPIC_AUTHORIZATION_FAILED
    ] * 2
    assert names == ["t", "u"]


async def test_unknown_topic_id_needs_no_permission_and_an_unknown_name_does(world) -> None:
    cluster = await open_cluster(world)
    resolve = readable(cluster.replicas, lambda _: False)

    assert error_of(resolve, (TopicId(b"?" * 16), 0)) is ErrorCode.UNKNOWN_TOPIC_ID
    assert error_of(resolve, ("unknown", 0)) is ErrorCode.TOPIC_AUTHORIZATION_FAILED
    code = error_of(readable_by_none, (TopicId(b"?" * 16), 0))
    assert code is ErrorCode.TOPIC_AUTHORIZATION_FAILED


def error_of(resolve, key) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        resolve(key)
    return caught.value.code
