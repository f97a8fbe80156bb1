"""Fetch: how much, how long, in which session, and what ends the wait."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from operator import attrgetter
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
    fetch,
    fetch_request,
    lead_elsewhere,
    partitions_of,
    produce,
    sizes_of,
    stable,
    values_of,
    write,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.log.rolling import roll
from trio_kafka.model import NodeId
from trio_kafka.pending import Work
from trio_kafka.protocol.messages.k01_fetch import (
    FetchPartition,
    FetchRequest,
    ReplicaState,
)
from trio_kafka.replication.leader.fetch import FetchAnswer
from trio_kafka.replication.leader.read import PartitionRead
from trio_kafka.testing.broker import ServedBroker, newest
from trio_kafka.testing.scripted_client import ScriptedClient
from trio_kafka_apis.k01_fetch import MANY, _Fetch

UNKNOWN_ID = b"?" * 16
BY_NAME = IDS_SINCE - 1


def at(offset: int, partition: int = 0, max_bytes: int = 1 << 20, **others: int) -> FetchPartition:
    return FetchPartition(partition, fetch_offset=offset, partition_max_bytes=max_bytes, **others)


@pytest.mark.parametrize("version", stable(FetchRequest))
async def test_whole_batches_are_read_from_the_fetch_offset_in_every_version(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("t")
        topic = topic_id if version >= IDS_SINCE else "t"
        await write(served, "t", b"a", b"b")
        await write(served, "t", b"c")

        answer = await served.ask(fetch_request(topic, 2), version)
        whole = await fetch(served, topic, 1, version=version)

    assert (answer.error_code, answer.session_id) == (0, 0)
    (row,) = answer.responses
    assert (row.topic, row.topic_id) == (
        ("", topic_id) if version >= IDS_SINCE else ("t", bytes(16))
    )
    (part,) = row.partitions
    assert (part.error_code, part.high_watermark, part.last_stable_offset) == (0, 3, 3)
    assert part.log_start_offset == (0 if version >= 5 else -1)
    assert part.aborted_transactions is None
    assert part.preferred_read_replica == -1
    assert values_of(part) == [b"c"]
    assert values_of(whole) == [b"a", b"b", b"c"]  # batches are not cut


async def test_a_read_committed_fetch_has_an_empty_list_of_aborted_transactions(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await write(served, "t", b"a")

        part = await fetch(served, "t", isolation_level=1)
        assert (part.aborted_transactions, values_of(part)) == ([], [b"a"])
        gone = await fetch(served, "t", 9, isolation_level=1)
        assert gone.aborted_transactions is None


@pytest.mark.parametrize("version", stable(FetchRequest))
async def test_an_unknown_topic_or_partition_gets_the_error_of_the_request_version(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("t")
        topic, other = (topic_id, UNKNOWN_ID) if version >= IDS_SINCE else ("t", "unknown")

        no_topic = await fetch(served, other, version=version)
        no_partition = await fetch(served, topic, at(0, 3), version=version)

    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    no_id = ErrorCode.UNKNOWN_TOPIC_ID
    assert no_topic.error_code == (no_id if version >= IDS_SINCE else unknown)
    assert no_partition.error_code == unknown
    for part in (no_topic, no_partition):
        assert (part.high_watermark, part.last_stable_offset) == (-1, -1)
        assert part.log_start_offset == -1
        assert bytes(part.records) == b""


@pytest.mark.parametrize("offset", [-1, 3, 1 << 62])
async def test_an_offset_out_of_range_is_answered_without_a_wait(
    autojump_clock: MockClock, offset: int
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await write(served, "t", b"a", b"b")

        began = trio.current_time()
        part = await fetch(served, "t", offset, max_wait_ms=5000)
        assert part.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        assert trio.current_time() - began < 1


async def test_an_error_of_one_partition_does_not_prevent_reading_the_others(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t", 2)
        await write(served, "t", b"a")
        request = fetch_request("t", at(0), at(9, 1), at(0, 7), max_wait_ms=5000)
        parts = partitions_of(await served.ask(request, BY_NAME))

    assert [(part.partition_index, part.error_code) for part in parts] == [
        (0, ErrorCode.NONE),
        (1, ErrorCode.OFFSET_OUT_OF_RANGE),
        (7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert values_of(parts[0]) == [b"a"]


class TestLeaderEpochs:
    """KIP-320: a client says which leader it believes in, and what it has read last."""

    @pytest.mark.parametrize("version", range(9, newest(FetchRequest) + 1))
    async def test_a_newer_leader_epoch_than_the_brokers_is_unknown(
        self, autojump_clock: MockClock, version: int
    ) -> None:
        async with broker() as served:
            topic_id = await served.create_topic("t")
            topic = topic_id if version >= IDS_SINCE else "t"
            (partition,) = served.broker.replicas.partitions
            epoch = partition.leader_epoch

            right, newer = [
                await fetch(
                    served, topic, at(0, current_leader_epoch=current_epoch), version=version
                )
                for current_epoch in (epoch, epoch + 1)
            ]
            assert codes([right, newer]) == [0, ErrorCode.UNKNOWN_LEADER_EPOCH]

    @pytest.mark.parametrize("version", range(9, newest(FetchRequest) + 1))
    async def test_a_fenced_leader_error_contains_the_current_leader_since_version_12(
        self, autojump_clock: MockClock, version: int
    ) -> None:
        async with broker() as served:
            topic_id = await served.create_topic("t")
            topic = topic_id if version >= IDS_SINCE else "t"
            await lead_elsewhere(served)
            request = fetch_request(topic, at(0, current_leader_epoch=0))
            answer = await served.ask(request, version)
            (part,) = partitions_of(answer)

        assert part.error_code == ErrorCode.FENCED_LEADER_EPOCH
        leader = (part.current_leader.leader_id, part.current_leader.leader_epoch)
        assert leader == ((7, 5) if version >= 12 else (-1, -1))
        endpoints = [
            (endpoint.node_id, endpoint.host, endpoint.port, endpoint.rack)
            for endpoint in answer.node_endpoints
        ]
        assert endpoints == ([(7, "there", 9999, "r")] if version >= 16 else [])

    async def test_an_older_leader_epoch_in_the_request_is_fenced(
        self, autojump_clock: MockClock
    ) -> None:
        async with broker() as served:
            await served.create_topic("t")
            await lead_elsewhere(served)

            part = await fetch(served, "t", at(0, current_leader_epoch=0))
            assert part.error_code == ErrorCode.FENCED_LEADER_EPOCH
            part = await fetch(served, "t", at(0, current_leader_epoch=5))
            assert part.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER

    async def test_a_fetcher_with_a_diverging_log_gets_the_diverging_epoch(
        self, autojump_clock: MockClock
    ) -> None:
        async with broker() as served:
            await served.create_topic("t")
            await write(served, "t", b"a", b"b")

            part = await fetch(served, "t", at(5, last_fetched_epoch=0), max_wait_ms=5000)
            assert (part.error_code, bytes(part.records)) == (0, b"")
            assert (part.diverging_epoch.epoch, part.diverging_epoch.end_offset) == (0, 2)
            part = await fetch(served, "t", at(1, last_fetched_epoch=0))
            assert part.diverging_epoch.epoch == -1
            assert values_of(part) == [b"a", b"b"]


class TestLimits:
    """KIP-74: bytes of an answer, of a partition, and the one batch that always comes."""

    @staticmethod
    @asynccontextmanager
    async def filled(partitions: int = 3) -> AsyncIterator[tuple[ServedBroker, int]]:
        """A broker whose topic "t" has 5 equal batches in each partition, and their size."""
        async with broker() as served:
            await served.create_topic("t", partitions)
            for partition in range(partitions):
                for n in range(5):
                    await produce(served, "t", batch(b"%d" % n * 100), partition=partition)
            size = sizes_of(await fetch(served, "t"))[0]
            yield served, size

    @staticmethod
    async def ask(served: ServedBroker, **limits: int) -> list[int]:
        """How many whole batches come of each partition."""
        answer = await served.ask(fetch_request("t", 0, 0, 0, **limits), BY_NAME)
        return [len(sizes_of(part)) for part in partitions_of(answer)]

    async def test_the_first_batch_is_returned_even_above_all_limits(
        self, autojump_clock: MockClock
    ) -> None:
        async with self.filled() as (served, size):
            assert await self.ask(served, max_bytes=1) == [1, 0, 0]
            assert await self.ask(served, max_bytes=0) == [1, 0, 0]
            assert await self.ask(served, partition_max_bytes=1) == [1, 0, 0]
            assert await self.ask(served, max_bytes=size - 1, partition_max_bytes=1) == [1, 0, 0]

    async def test_a_partition_returns_at_most_partition_max_bytes(
        self, autojump_clock: MockClock
    ) -> None:
        async with self.filled() as (served, size):
            assert await self.ask(served, partition_max_bytes=2 * size) == [2, 2, 2]

    async def test_a_response_contains_at_most_max_bytes(self, autojump_clock: MockClock) -> None:
        async with self.filled() as (served, size):
            assert await self.ask(served, max_bytes=7 * size) == [5, 2, 0]

    async def test_fetch_max_bytes_of_the_broker_limits_a_response(
        self, autojump_clock: MockClock
    ) -> None:
        async with broker({"fetch.max.bytes": "1024"}) as served:
            await served.create_topic("t")
            for _ in range(20):
                await write(served, "t", bytes(100))

            began = trio.current_time()
            part = await fetch(served, "t", min_bytes=1 << 20, max_wait_ms=60_000)
            assert 0 < sum(sizes_of(part)) <= 1024
            assert trio.current_time() - began < 1  # what can never come is waited for no longer

    async def test_a_response_with_a_partial_last_batch_stays_within_partition_max_bytes(
        self, autojump_clock: MockClock
    ) -> None:
        async with self.filled() as (served, size):
            part = await fetch(served, "t", partition_max_bytes=size + size // 2)
            assert len(bytes(part.records)) <= size + size // 2
            assert values_of(part)[0] == b"0" * 100


class TestWaiting:
    """Until there are min_bytes, at most max_wait_ms."""

    @staticmethod
    @asynccontextmanager
    async def two() -> AsyncIterator[tuple[ServedBroker, ScriptedClient, bytes]]:
        """A broker with topic "t" and its id, and another connection to it."""
        async with broker() as served, served.connect() as other:
            yield served, other, await served.create_topic("t")

    async def test_an_empty_fetch_with_max_wait_0_is_answered_at_once(
        self, autojump_clock: MockClock
    ) -> None:
        async with self.two() as (served, _, _):
            began = trio.current_time()
            part = await fetch(served, "t", min_bytes=1000)

            assert (part.error_code, part.high_watermark, bytes(part.records)) == (0, 0, b"")
            assert trio.current_time() - began < 0.1
            assert served.broker.purgatories.fetch.figures()["expired"] == 0  # nothing was parked

    async def test_an_empty_fetch_is_answered_after_max_wait(
        self, autojump_clock: MockClock
    ) -> None:
        async with self.two() as (served, _, _):
            began = trio.current_time()
            part = await fetch(served, "t", max_wait_ms=5000)

            assert bytes(part.records) == b""
            assert 5 <= trio.current_time() - began < 5.1

    async def test_an_empty_fetch_with_min_bytes_0_is_answered_at_once(
        self, autojump_clock: MockClock
    ) -> None:
        async with self.two() as (served, _, _):
            began = trio.current_time()
            await fetch(served, "t", min_bytes=0, max_wait_ms=5000)

            assert trio.current_time() - began < 0.1

    async def test_a_fetch_without_partitions_is_answered_at_once(
        self, autojump_clock: MockClock
    ) -> None:
        async with self.two() as (served, _, _):
            began = trio.current_time()
            answer = await served.ask(fetch_request(None, max_wait_ms=5000), BY_NAME)

            assert answer.responses == []
            assert trio.current_time() - began < 0.1

    @pytest.mark.parametrize("version", stable(FetchRequest))
    async def test_an_append_completes_a_waiting_fetch(
        self, autojump_clock: MockClock, version: int
    ) -> None:
        async with self.two() as (served, other, topic_id):
            began = trio.current_time()
            async with trio.open_nursery() as nursery:

                async def read() -> None:
                    topic = topic_id if version >= IDS_SINCE else "t"
                    part = await fetch(served, topic, version=version, max_wait_ms=5000)
                    assert values_of(part) == [b"a"]
                    assert part.high_watermark == 1

                nursery.start_soon(read)
                await trio.sleep(1)
                await write(other, "t", b"a")

            assert 1 <= trio.current_time() - began < 1.1

    async def test_a_fetch_waits_until_several_appends_reach_min_bytes(
        self, autojump_clock: MockClock
    ) -> None:
        async with self.two() as (served, other, _):
            await write(other, "t", bytes(100))
            size = sizes_of(await fetch(other, "t"))[0]
            began = trio.current_time()
            async with trio.open_nursery() as nursery:

                async def read() -> None:
                    part = await fetch(served, "t", min_bytes=3 * size, max_wait_ms=60_000)
                    assert len(values_of(part)) == 3

                nursery.start_soon(read)
                for _ in range(2):
                    await trio.sleep(1)
                    await write(other, "t", bytes(100))

            assert 2 <= trio.current_time() - began < 2.1

    async def test_a_fetch_below_min_bytes_returns_its_records_after_max_wait(
        self, autojump_clock: MockClock
    ) -> None:
        async with self.two() as (served, _, _):
            await write(served, "t", b"a")
            began = trio.current_time()
            part = await fetch(served, "t", min_bytes=10_000, max_wait_ms=3000)

            assert values_of(part) == [b"a"]
            assert 3 <= trio.current_time() - began < 3.1

    @pytest.mark.parametrize("version", [BY_NAME, IDS_SINCE])
    async def test_deletion_of_the_topic_ends_a_waiting_fetch_with_an_error(
        self, autojump_clock: MockClock, version: int
    ) -> None:
        async with self.two() as (served, _, topic_id), served.connect() as reader:
            began = trio.current_time()
            async with trio.open_nursery() as nursery:

                async def read() -> None:
                    topic = topic_id if version >= IDS_SINCE else "t"
                    part = await fetch(reader, topic, version=version, max_wait_ms=60_000)
                    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                    no_id = ErrorCode.UNKNOWN_TOPIC_ID
                    assert part.error_code == (no_id if version >= IDS_SINCE else unknown)

                nursery.start_soon(read)
                await trio.sleep(1)
                await delete_topic(served, "t")

            assert trio.current_time() - began < 1.5

    async def test_a_disconnected_client_leaves_no_waiting_fetch(
        self, autojump_clock: MockClock
    ) -> None:
        async with self.two() as (served, _, _):
            fetches = served.broker.purgatories.fetch
            with trio.move_on_after(1):
                async with served.connect() as reader:
                    await fetch(reader, "t", max_wait_ms=60_000)
            await trio.sleep(1)

            assert fetches.figures()["waiting"] == 0


def as_follower(version: int, node: int) -> dict[str, Any]:
    """How a version says which broker fetches."""
    return {"replica_state": ReplicaState(node, -1)} if version >= 15 else {"replica_id": node}


@pytest.mark.parametrize("version", stable(FetchRequest))
async def test_a_follower_reads_uncommitted_records_and_its_next_fetch_commits_them(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("t")
        topic = topic_id if version >= IDS_SINCE else "t"
        (partition,) = served.broker.replicas.partitions
        partition.replicas = partition.isr = (NodeId(1), NodeId(2))
        await write(served, "t", b"a")
        follower = as_follower(version, 2)

        seen = await fetch(served, topic, version=version)
        assert (seen.high_watermark, values_of(seen)) == (0, [])
        copied = await fetch(served, topic, version=version, **follower)
        assert (copied.high_watermark, values_of(copied)) == (0, [b"a"])
        assert values_of(await fetch(served, topic, 1, version=version, **follower)) == []
        seen = await fetch(served, topic, version=version)
        assert (seen.high_watermark, values_of(seen)) == (1, [b"a"])


@pytest.mark.parametrize("version", stable(FetchRequest))
async def test_a_fetch_by_a_broker_without_a_replica_is_refused(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("t")
        await write(served, "t", b"a")
        topic = topic_id if version >= IDS_SINCE else "t"
        part = await fetch(served, topic, version=version, **as_follower(version, 9))

    assert part.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert bytes(part.records) == b""


async def test_a_fetch_with_max_wait_0_still_waits_for_a_read_from_disk(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await write(served, "t", b"a")
        (partition,) = served.broker.replicas.partitions
        log = partition.log
        assert log is not None
        roll(log)
        for segment in log.segments:
            segment.file.chill()  # type: ignore[attr-defined] # simulated: out of the page cache

        assert values_of(await fetch(served, "t", max_wait_ms=0)) == [b"a"]


def test_ranges_of_a_wide_response_that_is_not_finished_are_released() -> None:
    released: list[int] = []

    class Range:
        remaining: int = 10

        def __init__(self, number: int) -> None:
            self.number = number

        def release(self) -> None:
            released.append(self.number)

    count = MANY + 1
    reads: Any = [(("t", n), PartitionRead(range=Range(n))) for n in range(count)]  # type: ignore[arg-type]
    context: Any = None
    fetch = _Fetch(FetchRequest(), context, attrgetter("topic"))
    work = fetch.respond(FetchAnswer(session_id=0, parts=reads))
    assert isinstance(work, Work)
    next(work.steps)

    work.close()

    assert released == list(range(count))
