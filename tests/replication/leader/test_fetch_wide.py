"""A fetch of many partitions, read in steps: what changes in between is not lost."""

from collections.abc import Generator
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import batch, broker, fetch_request, partitions_of, produce
from tests.replication.kit import try_complete, want
from tests.replication.leader.test_fetch import Broker, sizes
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k01_fetch import FetchPartition, FetchResponse
from trio_kafka.replication.leader.fetch import WIDE, WIDE_BESIDE
from trio_kafka.replication.leader.fetches import Fetches
from trio_kafka.scheduling.chunked_work import whole
from trio_kafka.testing.direct import DirectGroup
from trio_kafka.testing.planes import until


def end_of(steps: Generator[None, None, Any]) -> Any:
    try:
        while True:
            next(steps)
    except StopIteration as end:
        return end.value


async def test_read_of_many_partitions_pauses_between_steps(world) -> None:
    broker_ = Broker(world, 40)
    size = broker_.produce(39)
    steps = broker_.fetch(full=True).look()

    next(steps)
    next(steps)

    assert sizes(end_of(steps)) == {number: size * (number == 39) for number in range(40)}


async def test_bytes_appended_to_a_partition_already_read_complete_the_fetch(world) -> None:
    broker_ = Broker(world, 40)
    fetch = broker_.fetch()
    steps = fetch.look()
    next(steps)
    size = broker_.produce(0)

    assert end_of(steps) is None
    assert fetch.is_due(timed_out=False)
    assert sizes(whole(fetch.complete()))[0] == size


async def test_bytes_appended_to_a_partition_already_read_are_in_the_next_response(world) -> None:
    broker_ = Broker(world, 40)
    size = broker_.produce(39)
    steps = broker_.fetch().look()
    next(steps)
    broker_.produce(0)
    first = sizes(end_of(steps))
    assert (first[0], first[39]) == (0, size)

    assert sizes(whole(broker_.fetch().look()))[0] == size


async def test_later_fetch_of_the_session_ends_the_read_and_releases_its_bytes(world) -> None:
    broker_ = Broker(world, 40)
    broker_.produce(0)
    file = broker_.partitions["t", 0].log.segments.active.file
    steps = broker_.fetch().look()
    next(steps)
    assert file._leases
    broker_.session.epoch += 1

    answer = end_of(steps)

    assert answer.error.code is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert not file._leases


async def test_session_that_is_closed_between_two_steps_stays_closed(world) -> None:
    broker_ = Broker(world, 60)
    for number in range(60):
        broker_.produce(number)
    first, last = (broker_.partitions["t", number] for number in (0, 59))
    steps = broker_.fetch(full=True).look()
    next(steps)
    broker_.session.close()

    answer = end_of(steps)

    assert answer.error.code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert (answer.session_id, answer.parts) == (0, [])
    assert not first.log.segments.active.file._leases
    assert not broker_.watched
    assert last.topic_metrics.fetches == 0
    broker_.produce(17)  # marks nothing
    assert not broker_.session.dirty


async def test_partition_that_a_later_fetch_forgets_between_two_steps_stays_forgotten(
    world,
) -> None:
    broker_ = Broker(world, 60)
    steps = broker_.fetch(full=True).look()
    next(steps)
    broker_.session.update({}, [("t", number) for number in range(30, 60)])
    broker_.session.epoch += 1  # as the poll that forgets them does

    assert end_of(steps).error.code is ErrorCode.INVALID_FETCH_SESSION_EPOCH

    broker_.produce(50)
    size = broker_.produce(20)
    assert sizes(whole(broker_.fetch().look()))[20] == size
    assert len(broker_.session.partitions) == 30
    assert set(broker_.watched) == {broker_.partitions["t", number] for number in range(30)}


async def test_waiting_fetch_of_a_closed_session_gets_an_error_at_its_deadline(world) -> None:
    broker_ = Broker(world, 2)
    fetch = broker_.fetch()
    assert whole(fetch.look()) is None
    broker_.session.close()

    answer = try_complete(fetch, True)

    assert answer.error.code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


async def test_abandoned_read_releases_its_bytes(world) -> None:
    broker_ = Broker(world, 40)
    broker_.produce(0)
    file = broker_.partitions["t", 0].log.segments.active.file
    steps = broker_.fetch().look()
    next(steps)

    steps.close()

    assert not file._leases


async def test_waiting_fetch_of_many_partitions_gets_newly_produced_records(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served, served.connect() as other, trio.open_nursery() as nursery:
        count = WIDE + 10
        topic_id = await served.create_topic("t", partitions=count)
        partitions = [
            FetchPartition(number, fetch_offset=0, partition_max_bytes=1000)
            for number in range(count)
        ]
        answers: list[FetchResponse] = []

        async def fetch() -> None:
            request = fetch_request(topic_id, *partitions, max_wait_ms=60_000)
            answers.append(await other.ask(request, 13))

        nursery.start_soon(fetch)
        await trio.sleep(1)
        assert not answers
        began = trio.current_time()
        await produce(served, topic_id, batch(b"x"), partition=count - 1)
        await until(lambda: bool(answers))

        assert trio.current_time() - began < 10
        parts = partitions_of(answers[0])
        assert [part.partition_index for part in parts] == list(range(count))
        assert [part.partition_index for part in parts if part.records] == [count - 1]


async def test_partition_read_to_its_end_is_not_read_again(world) -> None:
    broker_ = Broker(world, 2)
    fetch = broker_.fetch()
    assert whole(fetch.look()) is None
    broker_.produce(0)
    sizes(try_complete(fetch, False))
    broker_.session.update({("t", 0): want(1)}, [])

    sizes(whole(broker_.fetch(max_wait_s=0).look()))

    assert not broker_.session.dirty


async def test_read_overtaken_by_a_later_fetch_ends_with_an_error_instead_of_a_wait(world) -> None:
    """It would take the place of the one that waits now."""
    broker_ = Broker(world, 40)
    steps = broker_.fetch().look()
    next(steps)
    broker_.session.epoch += 1

    assert end_of(steps).error.code is ErrorCode.INVALID_FETCH_SESSION_EPOCH


@pytest.mark.parametrize(("count", "is_let_in"), [(WIDE_BESIDE, False), (WIDE_BESIDE + 1, True)])
async def test_fetch_of_many_partitions_yields_to_the_other_plane_before_its_read(
    autojump_clock: MockClock, count: int, is_let_in: bool
) -> None:
    async with broker() as served, trio.open_nursery() as nursery:
        topic_id = await served.create_topic("t", partitions=count)
        parts = served.broker.parts
        yields: list[int] = []
        group = DirectGroup(served.broker.world, parts)
        await nursery.start(group.run)
        client = group.client()
        request = fetch_request(topic_id, *(FetchPartition(number) for number in range(count)))
        await client.ask(request, 13)
        parts[Fetches].yield_point.bind(lambda: None)
        group.budget.yield_point.bind(lambda: yields.append(0))
        exchange = client.send(request, 13)
        at_once = len(yields)
        await client.receive(request, 13)

        assert exchange.stamps.answered
        assert at_once == is_let_in
        nursery.cancel_scope.cancel()
