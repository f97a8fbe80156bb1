"""Fetch sessions: what they tell from poll to poll, and how they end (KIP-227)."""

from collections.abc import Sequence
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import (
    IDS_SINCE,
    batch,
    broker,
    codes,
    delete_topic,
    fetch_request,
    partitions_of,
    produce,
    values_of,
    write,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k01_fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ForgottenTopic,
)
from trio_kafka.replication.leader.session_cache import SessionCache
from trio_kafka.testing.broker import ServedBroker, newest
from trio_kafka.testing.scripted_client import ScriptedClient

UNKNOWN_ID = b"?" * 16
BY_NAME = IDS_SINCE - 1


async def poll(
    served: ServedBroker | ScriptedClient,
    session: int,
    epoch: int,
    *offsets: int | FetchPartition,
    topic: str | bytes | None = "t",
    forget: Sequence[int] = (),
    version: int = BY_NAME,
    **others: Any,
) -> FetchResponse:
    named = {"topic": topic} if isinstance(topic, str) else {"topic_id": topic}
    request = fetch_request(
        topic if offsets else None,
        *offsets,
        session_id=session,
        session_epoch=epoch,
        forgotten_topics_data=[ForgottenTopic(**named, partitions=list(forget))] if forget else [],
        **others,
    )
    return await served.ask(request, version)


def values_by_partition(answer: FetchResponse) -> dict[int, list[bytes | None]]:
    """By partition what it gave."""
    assert answer.error_code == 0
    return {part.partition_index: values_of(part) for part in partitions_of(answer)}


@pytest.mark.parametrize("version", range(7, newest(FetchRequest) + 1))
async def test_the_first_response_has_all_partitions_and_later_responses_only_changed_partitions(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("t", 3)
        topic = topic_id if version >= IDS_SINCE else "t"
        await write(served, "t", b"a")
        first = await poll(served, 0, 0, 0, 0, 0, topic=topic, version=version)
        session = first.session_id
        assert session > 0
        assert values_by_partition(first) == {0: [b"a"], 1: [], 2: []}

        second = await poll(served, session, 1, 1, topic=topic, version=version)
        assert (second.session_id, values_by_partition(second)) == (session, {})

        await produce(served, "t", batch(b"b"), partition=2)
        third = await poll(served, session, 2, topic=topic, version=version)
        assert values_by_partition(third) == {2: [b"b"]}


@pytest.mark.parametrize("version", [4, 6])
async def test_versions_before_7_create_no_session(autojump_clock: MockClock, version: int) -> None:
    async with broker() as served:
        await served.create_topic("t")
        answer = await served.ask(fetch_request("t", 0), version)

        assert answer.session_id == 0
        assert len(served.broker[SessionCache]) == 0


async def test_an_incremental_fetch_waits_for_records_of_its_session_partitions(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served, served.connect() as other:
        await served.create_topic("t", 2)
        session = (await poll(served, 0, 0, 0, 0)).session_id
        began = trio.current_time()
        async with trio.open_nursery() as nursery:

            async def read() -> None:
                answer = await poll(served, session, 1, max_wait_ms=5000)
                assert values_by_partition(answer) == {1: [b"a"]}

            nursery.start_soon(read)
            await trio.sleep(1)
            await produce(other, "t", batch(b"a"), partition=1)

        assert 1 <= trio.current_time() - began < 1.1


async def test_a_forgotten_partition_is_not_returned_any_more(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t", 2)
        session = (await poll(served, 0, 0, 0, 0)).session_id
        await poll(served, session, 1, forget=[0])
        for partition in (0, 1):
            await produce(served, "t", batch(b"a"), partition=partition)

        assert values_by_partition(await poll(served, session, 2)) == {1: [b"a"]}


async def test_a_partition_added_to_a_session_is_returned(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t", 2)
        await produce(served, "t", batch(b"a"), partition=1)
        session = (await poll(served, 0, 0, 0)).session_id

        assert values_by_partition(
            await poll(
                served, session, 1, FetchPartition(1, fetch_offset=0, partition_max_bytes=1 << 20)
            )
        ) == {1: [b"a"]}


async def test_a_session_without_partitions_is_closed(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        session = (await poll(served, 0, 0, 0)).session_id
        last = await poll(served, session, 1, forget=[0])

        assert (last.error_code, last.session_id) == (0, 0)
        after = await poll(served, session, 2)
        assert after.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


async def test_an_unknown_session_is_not_found(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        answer = await poll(served, 77, 1, 0)

        assert answer.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        assert (answer.session_id, answer.responses) == (0, [])


@pytest.mark.parametrize("epoch", [2, 5])
async def test_a_fetch_with_a_wrong_session_epoch_is_refused(
    autojump_clock: MockClock, epoch: int
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        session = (await poll(served, 0, 0, 0)).session_id

        answer = await poll(served, session, epoch)
        assert answer.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
        assert (await poll(served, session, 1)).error_code == 0


@pytest.mark.parametrize(("epoch", "sessions"), [(0, 1), (-1, 0)])
async def test_a_full_fetch_closes_the_session_named_in_its_request(
    autojump_clock: MockClock, epoch: int, sessions: int
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        old = (await poll(served, 0, 0, 0)).session_id
        new = await poll(served, old, epoch, 0)

        assert values_by_partition(new) == {0: []}
        assert (new.session_id != 0) == (epoch == 0)
        assert len(served.broker[SessionCache]) == sessions
        after = await poll(served, old, 1)
        assert after.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


async def test_a_fetch_is_served_without_a_session_when_the_session_cache_is_full(
    autojump_clock: MockClock,
) -> None:
    async with broker({"max.incremental.fetch.session.cache.slots": "1"}) as served:
        await served.create_topic("t")
        assert (await poll(served, 0, 0, 0)).session_id != 0

        second = await poll(served, 0, 0, 0)
        assert (second.session_id, values_by_partition(second)) == (0, {0: []})


async def test_a_topic_id_in_a_session_of_topic_names_is_refused(autojump_clock: MockClock) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("t")
        session = (await poll(served, 0, 0, 0)).session_id

        answer = await poll(served, session, 1, 0, topic=topic_id, version=13)
        assert answer.error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


async def test_an_unknown_topic_id_is_reported_in_every_response_of_its_session(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        first = await poll(served, 0, 0, 0, topic=UNKNOWN_ID, version=13)
        session = first.session_id
        assert codes(partitions_of(first)) == [ErrorCode.UNKNOWN_TOPIC_ID]

        again = await poll(served, session, 1, version=13)
        assert codes(partitions_of(again)) == [ErrorCode.UNKNOWN_TOPIC_ID]


async def test_after_a_topic_is_recreated_a_session_by_id_fails_and_a_session_by_name_reads(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        old = await served.create_topic("t")
        by_id = (await poll(served, 0, 0, 0, topic=old, version=13)).session_id
        by_name = (await poll(served, 0, 0, 0)).session_id
        await delete_topic(served, "t")
        await served.create_topic("t")
        await write(served, "t", b"new")

        gone = await poll(served, by_id, 1, version=13)
        assert codes(partitions_of(gone)) == [ErrorCode.UNKNOWN_TOPIC_ID]
        assert values_by_partition(await poll(served, by_name, 1)) == {0: [b"new"]}


async def test_a_partition_that_returned_records_is_served_last_in_the_next_fetch(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t", 2)
        for partition in (0, 1):
            await produce(served, "t", batch(b"%d" % partition), partition=partition)
        first = await poll(served, 0, 0, 0, 0, max_bytes=1)
        second = await poll(served, first.session_id, 1, max_bytes=1)

        assert values_by_partition(first) == {0: [b"0"], 1: []}
        assert values_by_partition(second) == {1: [b"1"]}
