"""Each background job beside a client that asks all the time: what the client notices of it.

In process, on real files. Prints the client's latencies and the longest turns of the loop. Nothing
of ours may hold the loop, or the interpreter, for more than 5 ms: what the machine takes is told
apart, see `turns`.
"""

import functools
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from attrs import define, field

from tests.e2e.turns import LONG_S, Turns, blame, held_by_nobody, watching
from trio_kafka.broker.collector import long_lived_frozen
from trio_kafka.coordinators.groups.offset_values import (
    Commit,
    PartitionOffset,
    TopicOffsets,
)
from trio_kafka.coordinators.groups.offsets import EXPIRY
from trio_kafka.errors import ErrorCode
from trio_kafka.log.durability.sync import sync
from trio_kafka.log.manager.maintenance import retain_all, write_checkpoints
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from trio_kafka.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from trio_kafka.protocol.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
)
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k20_delete_topics import DeleteTopicsRequest
from trio_kafka.records.batch import Record, encode_batch
from trio_kafka.records.compression import Codec
from trio_kafka.requests.registry import Registry, installed_apis
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld

Size = Callable[[int, int], int]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ECHO = "echo"
VALUE = bytes(100_000)


@define
class Echo:
    """Round trips, and the loop's turns meanwhile. check: of each answer."""

    turns: Turns
    request: object = field(factory=ApiVersionsRequest)
    version: int = 0
    check: Callable[[Any], None] = lambda _answer: None
    took_s: list[float] = field(factory=list)

    async def ask(self, broker: ServedBroker) -> None:
        async with broker.connect() as client:
            while True:
                began = time.perf_counter()
                answer = await client.ask(self.request, self.version)
                self.took_s.append(time.perf_counter() - began)
                self.check(answer)
                await trio.sleep(0.001)

    def describe(self, name: str) -> str:
        ordered = sorted(self.took_s)
        long = self.turns.long
        bound_ms = self.turns.bound_s * 1e3
        summary = (
            f"{name}: p50 {ordered[len(ordered) // 2] * 1e3:.2f} ms,"
            f" p99 {ordered[int(len(ordered) * 0.99)] * 1e3:.2f} ms,"
            f" max {ordered[-1] * 1e3:.1f} ms;"
            f" {len(long)} of {self.turns.count} turns above {bound_ms:.0f} ms,"
            f" {len(self.turns.held())} of them ours"
        )
        return "\n  ".join([summary, *map(str, sorted(long, key=lambda turn: -turn.took_s)[:12])])


@asynccontextmanager
async def beside_an_echo(
    name: str,
    broker: ServedBroker,
    *,
    may_wait: bool = False,
    bound_s: float = LONG_S,
    **asks: Any,
) -> AsyncIterator[Turns]:
    """The block is the job, of `held_by_nobody`.

    may_wait: for the disk, as nobody is served yet by what starts. bound_s: of a turn. asks: of the
    echo.
    """
    with long_lived_frozen(time.perf_counter), watching(ECHO, bound_s) as turns:
        async with trio.open_nursery() as nursery:
            echo = Echo(turns, **asks)
            nursery.start_soon(echo.ask, broker, name=ECHO)
            await trio.sleep(0.1)
            turns.long.clear()
            began = time.perf_counter()
            yield turns
            took = time.perf_counter() - began
            await trio.sleep(0.05)
            nursery.cancel_scope.cancel()
    print(f"{echo.describe(name)}\n  took {took:.2f} s")
    blame(turns.held(may_wait=may_wait))


@asynccontextmanager
async def a_broker(path: Path, **more: str) -> AsyncIterator[ServedBroker]:
    settings = {
        "log.dirs": str(path),
        "log.segment.delete.delay.ms": "0",
        "log.initial.task.delay.ms": "3600000",
        **{name.replace("_", "."): value for name, value in more.items()},
    }
    async with served_broker(RealWorld(SkippingClock()), settings, apis=installed()) as served:
        yield served


@functools.cache
def installed() -> Registry:
    """A process looks for what is installed before it serves anybody: 5 ms."""
    return installed_apis()


async def write(broker: ServedBroker, topic: str, mib: int, *, age_s: float = 0.0) -> None:
    """Batches of 0.9 MB in one partition."""
    now = int((broker.broker.world.clock.wall() - age_s) * 1000)
    batch = encode_batch([Record(timestamp=now, value=VALUE) for _ in range(9)])
    for _ in range(mib):
        data = PartitionProduceData(0, memoryview(batch))
        topics = [TopicProduceData(topic, partition_data=[data])]
        answer = await broker.ask(ProduceRequest(acks=1, timeout_ms=1000, topic_data=topics), 9)
        assert answer.responses[0].partition_responses[0].error_code == 0


@held_by_nobody
async def test_retention_does_not_block_the_loop(tmp_path: Path, size: Size) -> None:
    async with a_broker(tmp_path, log_segment_bytes=str(1 << 20)) as broker:
        await broker.create_topic("t", configs={"retention.ms": "1000"})
        await write(broker, "t", size(55, 1000), age_s=3600)

        async with beside_an_echo("retention", broker):
            assert await retain_all(broker.broker.logs) > 50


@held_by_nobody
async def test_checkpoints_do_not_block_the_loop(tmp_path: Path, size: Size) -> None:
    async with a_broker(tmp_path) as broker:
        await broker.create_topic("t", size(300, 3000))

        async with beside_an_echo("checkpoints", broker):
            await write_checkpoints(broker.broker.logs)


@held_by_nobody
async def test_sync_of_a_log_does_not_block_the_loop(tmp_path: Path, size: Size) -> None:
    async with a_broker(tmp_path) as broker:
        await broker.create_topic("t")
        await write(broker, "t", size(55, 1000))
        log = broker.broker.replicas.partition("t", 0).local_log()

        async with beside_an_echo("sync", broker):
            await sync(log)


@held_by_nobody
async def test_removal_of_deleted_files_does_not_block_the_loop(tmp_path: Path, size: Size) -> None:
    async with a_broker(tmp_path, log_segment_bytes=str(1 << 20)) as broker:
        await broker.create_topic("t")
        await write(broker, "t", size(55, 1000))
        await broker.create_topic("many", size(100, 1000))
        names = ["t", "many"]

        async with beside_an_echo("deletion and removal", broker):
            await broker.ask(DeleteTopicsRequest(topic_names=names, timeout_ms=60_000), 5)
            with trio.fail_after(60):
                while list(tmp_path.glob("t-0.*")) or list(tmp_path.glob("many-*")):
                    await broker.broker.logs.removal.remove_due()
                    await trio.sleep(0.01)


@held_by_nobody
async def test_metadata_snapshots_do_not_block_the_loop(tmp_path: Path, size: Size) -> None:
    more = {"metadata_log_max_record_bytes_between_snapshots": "2000"}
    async with a_broker(tmp_path, **more) as broker:
        for number in range(size(20, 300)):
            await broker.create_topic(f"t{number}", 10)

        async with beside_an_echo("snapshots", broker):
            for _ in range(3):
                await wait_for_another_snapshot(tmp_path, broker)


def newest_snapshot(path: Path) -> str:
    return max(snapshot.name for snapshot in path.glob("__cluster_metadata-0/*-*.checkpoint"))


async def wait_for_another_snapshot(path: Path, broker: ServedBroker) -> None:
    """After as many new topics as it takes."""
    before, number = newest_snapshot(path), 0
    with trio.fail_after(60):
        while newest_snapshot(path) == before:
            number += 1
            await broker.create_topic(f"{before[10:20]}-{number}", 1)
            await trio.sleep(0.05)


@held_by_nobody
async def test_recovery_of_a_large_log_does_not_block_the_loop(tmp_path: Path, size: Size) -> None:
    mib = size(100, 2000)
    with trio.CancelScope() as scope:  # its end is none: the log is read at the next start
        async with a_broker(tmp_path / "crashed") as broker:
            await broker.create_topic("t")
            await write(broker, "t", mib)
            scope.cancel()
            await trio.lowlevel.checkpoint()

    assert not (tmp_path / "crashed" / ".kafka_cleanshutdown").exists()

    async with (
        a_broker(tmp_path / "other") as other,
        beside_an_echo("start with a recovery", other, may_wait=True) as turns,
        a_broker(tmp_path / "crashed") as broker,
    ):
        turns.ended = True
        assert broker.broker.replicas.partition("t", 0).local_log().end_offset == mib * 9


@held_by_nobody
async def test_start_with_many_partitions_does_not_block_the_loop(
    tmp_path: Path, size: Size
) -> None:
    count = size(100, 1000)
    async with a_broker(tmp_path / "many") as broker:
        await broker.create_topic("t", count)

    async with (
        a_broker(tmp_path / "other") as other,
        beside_an_echo("start with many partitions", other, may_wait=True) as turns,
        a_broker(tmp_path / "many") as broker,
    ):
        turns.ended = True
        assert len(broker.broker.replicas.partitions) == count


@pytest.mark.parametrize("codec", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
@held_by_nobody
async def test_recompression_of_batches_does_not_block_the_loop(
    tmp_path: Path, size: Size, codec: str
) -> None:
    configs = {"compression.type": codec, "cleanup.policy": "compact"}
    records = [Record(key=b"%d" % n, value=b"some value %d " % n * 5) for n in range(10_000)]
    sent = Codec.GZIP if codec == "zstd" else Codec.ZSTD
    batch = encode_batch(records, codec=sent)
    async with a_broker(tmp_path) as broker:
        await broker.create_topic("t", configs=configs)

        async with beside_an_echo(f"recompression to {codec}", broker):
            for _ in range(size(3, 20)):
                data = PartitionProduceData(0, memoryview(batch))
                topics = [TopicProduceData("t", partition_data=[data])]
                request = ProduceRequest(acks=1, timeout_ms=30_000, topic_data=topics)
                answer = await broker.ask(request, 9)
                assert answer.responses[0].partition_responses[0].error_code == 0


@held_by_nobody
async def test_loading_committed_offsets_does_not_block_the_loop(
    tmp_path: Path, size: Size
) -> None:
    """In slices of 2 ms at most; the echo is of a group that is served meanwhile."""
    count = size(20_000, 100_000)
    async with a_broker(tmp_path, offsets_topic_num_partitions="2") as broker:
        await broker.serve_groups("g")
        groups = broker.broker.groups
        names = [f"g{number}" for number in range(count // 10)]
        shard = groups.topic.partition_of("g")
        other = next(name for name in names if groups.topic.partition_of(name) != shard)
        here = [name for name in names if groups.topic.partition_of(name) == shard][: count // 50]
        for number, name in enumerate(here):
            parts = [PartitionOffset(at, number, -1, "") for at in range(50)]
            topic = TopicOffsets("t", bytes(16), parts)
            groups.offsets.commit(Commit(group_id=name, topics=[topic]))
            if not number % 5:
                await trio.lowlevel.checkpoint()
        await broker.create_topic("t", 1)
        part = OffsetCommitRequestPartition(0, 7, -1, "")
        topics = [OffsetCommitRequestTopic("t", partitions=[part])]
        served: list[int] = []

        async with beside_an_echo(
            "load of offsets",
            broker,
            bound_s=0.002,
            request=OffsetCommitRequest(other, topics=topics),
            version=9,
            check=lambda answer: served.append(answer.topics[0].partitions[0].error_code),
        ):
            before = len(served)
            groups.coordinator.shard_of("g").fail()
            await broker.serve_groups("g")
            meanwhile = served[before:]

        assert groups.coordinator.shard_of("g").machine.offsets.count == count
        assert len(meanwhile) > 20
        assert set(meanwhile) == {ErrorCode.NONE}


@pytest.mark.parametrize("kind", ["classic", "consumer"])
@held_by_nobody
async def test_rebalances_of_a_large_group_do_not_block_the_loop(
    tmp_path: Path, size: Size, kind: str
) -> None:
    """100 members over 1,000 partitions."""
    more = {
        "offsets_topic_num_partitions": "1",
        "group_initial_rebalance_delay_ms": "500",  # in which all members join
        "group_consumer_assignment_interval_ms": "0",  # or there is one rebalance a second
    }
    async with a_broker(tmp_path, **more) as broker:
        await broker.create_topic("t", 1000)
        await broker.serve_groups("g")
        at = broker.broker.endpoint
        arguments = [kind, at.host, str(at.port), "t", "1000", "100", str(size(3, 500))]

        async with beside_an_echo(f"rebalances, {kind}", broker):
            await trio.run_process([sys.executable, "-m", "tests.e2e.rebalances", *arguments])


@held_by_nobody
async def test_expiry_of_ten_thousand_groups_does_not_block_the_loop(tmp_path: Path) -> None:
    async with a_broker(tmp_path, offsets_topic_num_partitions="1") as broker:
        await broker.serve_groups("g")
        groups = broker.broker.groups
        for number in range(10_000):
            topic = TopicOffsets("t", bytes(16), [PartitionOffset(0, number, -1, "")])
            groups.offsets.commit(Commit(group_id=f"g{number}", topics=[topic]))
            if not number % 50:
                await trio.lowlevel.checkpoint()
        shard = groups.coordinator.shard_of("g")
        in_a_month_ms = int(broker.broker.world.clock.wall() * 1000) + 30 * 86_400_000

        async with beside_an_echo("expiry of groups", broker):
            shard.apply(lambda machine, _now_ms: machine.timer((EXPIRY,), in_a_month_ms))
            while shard.busy:
                await trio.sleep(0.01)

        assert shard.machine.by_id == {}


@held_by_nobody
async def test_commit_and_fetch_of_offsets_of_many_partitions_do_not_block_the_loop(
    tmp_path: Path, size: Size
) -> None:
    count = size(1000, 3000)
    async with a_broker(tmp_path) as broker:
        await broker.create_topic("t", count)
        await broker.serve_groups("g")
        parts = [OffsetCommitRequestPartition(number, 7, -1, "m") for number in range(count)]
        request = OffsetCommitRequest("g", topics=[OffsetCommitRequestTopic("t", partitions=parts)])
        fetch_request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=None)])

        async with beside_an_echo("many offsets", broker), broker.connect() as client:
            for _ in range(3):
                answer = await client.ask(request, 9)
                result = await client.ask(fetch_request, 9)

        assert not any(partition.error_code for partition in answer.topics[0].partitions)
        assert len(result.groups[0].topics[0].partitions) == count
