import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from tests.replication.kit import PEER, batch, make_cold, new_partition, state, try_complete, want
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import TopicPartition
from trio_kafka.replication.leader.append import append
from trio_kafka.replication.leader.fetch import (
    HEAD_SIZE,
    PARTITION_SIZE,
    TOPIC_SIZE,
    Fetch,
    FetchAnswer,
    FetchLimits,
)
from trio_kafka.replication.leader.read import Isolation, read_in_threads
from trio_kafka.replication.leader.sessions import Session
from trio_kafka.scheduling.chunked_work import whole
from trio_kafka.testing.simulation import simulated_world


class Broker:
    """Partitions by number, and a session that watches them."""

    def __init__(self, world, number: int = 2, *isr: int) -> None:
        self.partitions = {}
        self.watched = {}
        for n in range(number):
            partition, _ = new_partition(world, *isr, at=TopicPartition("t", n))
            partition.changed = self.mark
            self.partitions["t", n] = partition
        self.session = Session(
            id=7,
            epoch=1,
            attach=self.watched.setdefault,
            detach=lambda key, _: self.watched.pop(key),
        )
        self.session.update({key: want() for key in self.partitions}, [])

    def mark(self, partition) -> None:
        if partition in self.watched:
            self.watched[partition].marked(partition)

    def resolve(self, key):
        if key not in self.partitions:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return self.partitions[key]

    def fetch(self, *, full: bool = False, **limits) -> Fetch:
        return Fetch(self.session, FetchLimits(**limits), self.resolve, full=full)

    def produce(self, number: int, count: int = 1, size: int = 10) -> int:
        append(self.partitions["t", number], batch(count, size=size), acks=1)
        return len(batch(count, size=size))


def sizes(answer: FetchAnswer | None) -> dict[int, int]:
    """Bytes by partition number; gives them back."""
    assert answer is not None
    assert answer.error is None
    result = {key[1]: read.size for key, read in answer.parts}
    answer.release()
    return result


async def test_fetch_of_available_bytes_is_answered_at_once(world) -> None:
    broker = Broker(world, 2)
    size = broker.produce(1)

    answer = whole(broker.fetch(full=True).look())

    assert answer.session_id == 7
    assert answer.size == size
    assert sizes(answer) == {0: 0, 1: size}


async def test_fetch_of_empty_partitions_waits_for_the_first_bytes(world) -> None:
    broker = Broker(world, 2)
    fetch = broker.fetch()

    assert whole(fetch.look()) is None
    assert try_complete(fetch, False) is None
    size = broker.produce(0)

    assert sizes(try_complete(fetch, False))[0] == size


async def test_partitions_not_yet_added_to_the_session_are_read_in_steps(world) -> None:
    broker = Broker(world, 3)
    size = broker.produce(1)
    broker.session = Session(attach=broker.watched.setdefault, detach=broker.watched.pop)
    broker.session.rest = {key: want() for key in broker.partitions}
    fetch = broker.fetch(full=True)

    assert fetch.is_wide
    assert sizes(whole(fetch.look())) == {0: 0, 1: size, 2: 0}
    assert not fetch.is_wide


async def test_min_bytes_counts_the_bytes_of_all_partitions(world) -> None:
    broker = Broker(world, 3)
    size = broker.produce(0)
    fetch = broker.fetch(min_bytes=2 * size + 1)

    assert whole(fetch.look()) is None
    broker.produce(1)
    assert try_complete(fetch, False) is None
    broker.produce(2)
    assert sizes(try_complete(fetch, False)) == {0: size, 1: size, 2: size}


async def test_fetch_at_its_deadline_is_answered_with_the_available_bytes(world) -> None:
    broker = Broker(world, 2)
    size = broker.produce(0)
    fetch = broker.fetch(min_bytes=1000)
    assert whole(fetch.look()) is None

    assert sizes(try_complete(fetch, True)) == {0: size, 1: 0}


async def test_fetch_without_max_wait_is_answered_at_once(world) -> None:
    broker = Broker(world, 1)

    assert sizes(whole(broker.fetch(full=True, max_wait_s=0).look())) == {0: 0}


async def test_fetch_without_partitions_is_answered_at_once(world) -> None:
    broker = Broker(world, 0)

    assert sizes(whole(broker.fetch().look())) == {}


async def test_incremental_fetch_without_new_bytes_waits(world) -> None:
    broker = Broker(world, 2)
    sizes(whole(broker.fetch(full=True, max_wait_s=0).look()))
    assert not broker.session.dirty

    fetch = broker.fetch()

    assert whole(fetch.look()) is None
    assert sizes(try_complete(fetch, True)) == {}


async def test_first_partition_with_bytes_may_exceed_max_bytes(world) -> None:
    broker = Broker(world, 3)
    size = broker.produce(1, size=1000)
    broker.produce(2, size=1000)

    assert sizes(whole(broker.fetch(full=True, max_bytes=10).look())) == {0: 0, 1: size, 2: 0}


async def test_bytes_of_a_partition_are_limited_by_partition_max_bytes(world) -> None:
    broker = Broker(world, 1)
    size = broker.produce(0)
    broker.produce(0)
    broker.session.update({("t", 0): want(0, max_bytes=size + 5)}, [])

    assert sizes(whole(broker.fetch().look())) == {0: size + 5}


async def test_partitions_left_out_for_max_bytes_are_first_in_the_next_fetch(world) -> None:
    broker = Broker(world, 3)
    size = max(broker.produce(n, size=1000) for n in range(3))
    served = []

    for _ in range(4):
        result = sizes(whole(broker.fetch(max_bytes=size).look()))
        served.append([number for number, n in result.items() if n])

    assert served == [[0], [1], [2], [0]]


async def test_error_of_a_partition_answers_the_fetch_at_once(world) -> None:
    broker = Broker(world, 1)
    broker.session.update({("t", 9): want()}, [])

    answer = whole(broker.fetch(min_bytes=1000).look())

    codes = {key[1]: read.error for key, read in answer.parts}
    assert codes[0] is None
    assert codes[9].code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("min_bytes", [1, 1000])
async def test_loss_of_leadership_of_a_partition_completes_the_fetch(world, min_bytes: int) -> None:
    broker = Broker(world, 2)
    fetch = broker.fetch(min_bytes=min_bytes)
    assert whole(fetch.look()) is None

    broker.partitions["t", 1].update(state(1, 2, leader=2, epoch=1))

    answer = try_complete(fetch, False)
    (error,) = [read.error for _, read in answer.parts if read.error]
    assert error.code is ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_deletion_of_a_partition_completes_the_fetch(world) -> None:
    broker = Broker(world, 2)
    fetch = broker.fetch()
    assert whole(fetch.look()) is None

    broker.partitions.pop(("t", 1)).delete()

    answer = try_complete(fetch, False)
    (error,) = [read.error for _, read in answer.parts if read.error]
    assert error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_uncommitted_bytes_do_not_complete_the_fetch_of_a_consumer(world) -> None:
    broker = Broker(world, 1, 1, 2)
    fetch = broker.fetch()
    assert whole(fetch.look()) is None

    broker.produce(0)
    assert try_complete(fetch, False) is None
    broker.partitions["t", 0].follower_fetched(PEER, 1)

    assert sizes(try_complete(fetch, False))[0] > 0


async def test_fetch_of_a_follower_raises_the_high_watermark(world) -> None:
    broker = Broker(world, 1, 1, 2)
    broker.produce(0, 3)
    broker.session.update({("t", 0): want(3)}, [])

    fetch = broker.fetch(follower=PEER, isolation=Isolation.LOG_END)

    assert whole(fetch.look()) is None
    assert broker.partitions["t", 0].log.high_watermark == 3


async def test_a_diverging_epoch_is_answered_at_once(world) -> None:
    broker = Broker(world, 1)
    broker.produce(0)
    broker.partitions["t", 0].update(state(1, epoch=5))
    broker.produce(0)
    broker.session.update({("t", 0): want(2, last_fetched_epoch=3)}, [])

    answer = whole(broker.fetch(min_bytes=1000).look())

    assert answer.parts[0][1].diverging.end_offset == 1


async def test_later_fetch_of_a_session_ends_the_earlier_fetch(world) -> None:
    broker = Broker(world, 1)
    fetch = broker.fetch()
    assert whole(fetch.look()) is None
    broker.session.epoch = 2
    broker.produce(0)

    answer = try_complete(fetch, False)

    assert answer.error.code is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert answer.parts == []


async def test_a_parked_fetch_holds_no_lease(world) -> None:
    broker = Broker(world, 1)
    broker.produce(0)
    file = broker.partitions["t", 0].log.segments.active.file

    assert whole(broker.fetch(min_bytes=1000).look()) is None

    assert not file._leases


async def test_cold_bytes_read_in_threads_complete_the_fetch(world) -> None:
    broker = Broker(world, 2)
    size = broker.produce(0)
    make_cold(broker.partitions["t", 0])
    fetch = broker.fetch()
    assert whole(fetch.look()) is None
    (cold_partition,) = fetch.cold
    partition = fetch.cold[cold_partition]
    fetch.taken = trio.Event()

    fetch.ready[cold_partition] = await read_in_threads(
        partition, cold_partition.request, 1 << 20, Isolation.READ_UNCOMMITTED
    )

    assert sizes(try_complete(fetch, False))[0] == size
    assert fetch.taken.is_set()
    assert not fetch.ready


async def test_fetch_without_a_session_watches_its_partitions_itself(world) -> None:
    broker = Broker(world, 2)
    broker.session.id = 0
    fetch = broker.fetch(full=True)
    assert whole(fetch.look()) is None

    assert fetch.keys == list(broker.partitions.values())
    assert broker.watched == {}
    size = broker.produce(1)
    assert sizes(try_complete(fetch, False)) == {0: 0, 1: size}


async def test_fetch_without_max_wait_waits_for_cold_bytes(world) -> None:
    broker = Broker(world, 1)
    broker.produce(0)
    make_cold(broker.partitions["t", 0])
    fetch = broker.fetch(max_wait_s=0)

    assert whole(fetch.look()) is None
    assert fetch.cold
    answer = try_complete(fetch, True)
    assert answer.size == 0
    assert broker.session.dirty


async def test_unknown_partition_is_no_longer_watched(world) -> None:
    broker = Broker(world, 1)
    assert whole(broker.fetch().look()) is None
    assert broker.watched

    broker.partitions.clear()
    whole(broker.fetch().look())

    assert not broker.watched


async def test_fetch_of_a_broker_without_a_replica_is_refused(world) -> None:
    broker = Broker(world, 1, 1, 2)
    broker.produce(0)

    answer = whole(broker.fetch(follower=9, isolation=Isolation.LOG_END).look())

    assert answer.parts[0][1].error.code is ErrorCode.UNKNOWN_LEADER_EPOCH
    assert answer.size == 0
    assert not broker.partitions["t", 0].log.segments.active.file._leases


async def test_first_fetch_of_a_follower_records_its_end_offset_0(world) -> None:
    broker = Broker(world, 1, 1, 2)
    broker.produce(0, 3)
    broker.session.update({("t", 0): want(0)}, [])

    result = sizes(whole(broker.fetch(follower=PEER, isolation=Isolation.LOG_END).look()))

    assert result[0] > 0
    assert broker.partitions["t", 0].role.follower_ends == {PEER: 0}


EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("produce"), st.integers(0, 2)),
        st.tuples(st.just("poll"), st.sampled_from([1, 150, 10_000])),
        st.tuples(st.just("forget"), st.integers(0, 2)),
        st.tuples(st.just("want"), st.integers(0, 2)),
        st.tuples(st.just("park"), st.just(0)),
    ),
    max_size=25,
)


@given(EVENTS)
async def test_session_gets_all_unread_bytes_whatever_the_order_of_events(events) -> None:
    broker = Broker(simulated_world(), 3)
    positions = {("t", n): 0 for n in range(3)}
    moved = {}
    for action, number in events:
        key = ("t", number)
        if action == "produce":
            broker.produce(number)
        elif action == "forget":
            broker.session.update({}, [key])
            positions.pop(key, None)
            moved.pop(key, None)
        elif action == "want":
            positions.setdefault(key, 0)
            moved[key] = want(positions[key])
        elif action == "park":
            whole(broker.fetch(min_bytes=1 << 20).look())
        else:
            broker.session.update(moved, [])
            moved = {}
            answer = whole(broker.fetch(max_wait_s=0, max_bytes=number).look())
            ends = {key: broker.partitions[key].log.end_offset for key in positions}
            unread = {key for key, offset in positions.items() if offset < ends[key]}
            given_to = {key for key, read in answer.parts if read.size}
            assert given_to <= unread
            assert bool(given_to) == bool(unread)
            if number == 10_000:
                assert given_to == unread
            for key in given_to:
                positions[key] = ends[key]
                moved[key] = want(ends[key])
            answer.release()


async def test_throttled_fetch_releases_its_bytes_which_the_next_fetch_gets(world) -> None:
    broker = Broker(world, 2)
    size = broker.produce(0)
    response_sizes = []

    def admit(response_size: int) -> int:
        response_sizes.append(response_size)
        return 250

    refused = whole(broker.fetch(admit=admit).look())

    assert response_sizes == [HEAD_SIZE + TOPIC_SIZE + 2 * PARTITION_SIZE + size]
    assert (refused.session_id, refused.parts, refused.throttled_ms) == (7, [], 250)
    assert not broker.partitions["t", 0].log.segments.active.file._leases
    assert sizes(whole(broker.fetch().look()))[0] == size


async def test_throttled_first_fetch_ends_its_session(world) -> None:
    broker = Broker(world, 1)
    broker.produce(0)
    ended = []
    broker.session.end = lambda: ended.append(broker.session.id)

    refused = whole(broker.fetch(full=True, admit=lambda _: 250).look())

    assert (refused.session_id, ended) == (0, [7])


async def test_fetch_overtaken_by_a_later_fetch_gets_an_epoch_error_and_no_throttle(world) -> None:
    broker = Broker(world, 1)
    broker.produce(0)
    fetch = broker.fetch(admit=lambda _: 250)
    broker.session.epoch += 1

    answer = whole(fetch.look())

    assert answer.error.code is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert not answer.throttled_ms


async def test_fetch_whose_quota_callback_fails_keeps_no_lease(world) -> None:
    broker = Broker(world, 1)
    broker.produce(0)

    def admit(response_size: int) -> int:
        raise RuntimeError("a quota callback of a plugin failed")

    with pytest.raises(RuntimeError, match="quota"):
        whole(broker.fetch(admit=admit).look())
    with pytest.raises(RuntimeError, match="quota"):
        whole(broker.fetch(admit=admit).complete())

    assert not broker.partitions["t", 0].log.segments.active.file.leased


async def test_failed_fetch_releases_the_bytes_that_were_read_in_threads(world) -> None:
    broker = Broker(world, 2)
    broker.produce(0)
    partition = broker.partitions["t", 0]
    make_cold(partition)
    file = partition.log.segments.first.file
    fetch = broker.fetch()
    assert whole(fetch.look()) is None
    (cold_partition,) = fetch.cold
    fetch.ready[cold_partition] = await read_in_threads(
        partition, cold_partition.request, 1 << 20, Isolation.READ_UNCOMMITTED
    )

    def resolve(key):
        raise RuntimeError("an authorizer of a plugin failed")

    fetch._resolve = resolve
    with pytest.raises(RuntimeError, match="authorizer"):
        whole(fetch.complete())

    assert not file.leased
