"""Loading: every record in its order, what cannot be read is skipped and told, transactions end."""

import tarfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import broker
from tests.records.kit import encode_batch, encode_marker
from trio_kafka.coordinators.groups.classic.submachine import ClassicGroups, simple_group
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.stored_records import GROUP_RECORDS
from trio_kafka.coordinators.shards.effects import CoordinatorRecord
from trio_kafka.coordinators.shards.loading import LoadResult, load
from trio_kafka.log.log import Log
from trio_kafka.protocol.stored.groups.classic import (
    GroupMetadataKey,
    OffsetCommitKey,
    OffsetCommitValue,
)
from trio_kafka.protocol.stored.groups.consumer import ConsumerGroupMetadataKey
from trio_kafka.records.batch import Record, iterate_headers, read_records
from trio_kafka.records.control import Marker
from trio_kafka.replication.leader.append import append_own
from trio_kafka.replication.moves.alter_log_dirs import alter_log_dir
from trio_kafka.replication.moves.moves import LogMoves
from trio_kafka.replication.partition import Partition
from trio_kafka.scheduling.chunked_work import Steps

DATA = Path(__file__).parent.parent / "data"


class Reader:
    """A machine that only notes what it is given."""

    def __init__(self) -> None:
        self.seen: list[object] = []

    def replay(self, record: CoordinatorRecord) -> None:
        self.seen.append(record.key.partition)

    def replay_transactional(self, producer_id: int, record: CoordinatorRecord) -> None:
        self.seen.append((producer_id, record.key.partition))

    def end_transaction(self, producer_id: int, *, committed: bool) -> Steps[None]:
        yield
        self.seen.append((producer_id, committed))


def stored(number: int) -> Record:
    key, value = GROUP_RECORDS.encode(
        CoordinatorRecord(OffsetCommitKey("g", "t", number), OffsetCommitValue(1, metadata=""))
    )
    return Record(key=key, value=value, timestamp=1)


def put(partition: Partition, *records: Record, **fields: object) -> None:
    write(partition, encode_batch(records, **fields))  # type: ignore[arg-type]


def write(partition: Partition, batch: bytes) -> None:
    append_own(partition, memoryview(bytearray(batch)), acks=-1)


@asynccontextmanager
async def a_partition(settings: dict[str, str] | None = None) -> AsyncIterator[Partition]:
    async with broker(settings) as served:
        await served.create_topic("x")
        yield served.broker.replicas.partition("x", 0)


async def read(log: Log, buffer: int = 1 << 20) -> tuple[list[object], LoadResult]:
    reader = Reader()
    loaded = await load(
        lambda: log, reader, GROUP_RECORDS, name="x-0", buffer=buffer, elapsed=trio.current_time
    )
    return reader.seen, loaded


async def test_loading_replays_all_records_in_order(autojump_clock: MockClock) -> None:
    async with a_partition({"log.segment.bytes": "1048576"}) as partition:
        for number in range(0, 300, 3):
            put(partition, stored(number), stored(number + 1), stored(number + 2))

        for buffer in (1, 1000, 1 << 20):
            seen, loaded = await read(partition.local_log(), buffer)
            assert seen == list(range(300))
            assert (loaded.end, loaded.records, loaded.unknown, loaded.broken) == (300, 300, 0, 0)


async def test_loading_skips_and_logs_unknown_types_and_malformed_records(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with a_partition() as partition:
        put(
            partition,
            stored(0),
            Record(key=b"\x00\x63", value=b"?", timestamp=1),
            Record(key=b"\x00\x01", value=b"?", timestamp=1),
            Record(key=None, value=b"?", timestamp=1),
            stored(4),
        )
        seen, loaded = await read(partition.local_log())

    assert seen == [0, 4]
    assert (loaded.unknown, loaded.broken, loaded.end) == (1, 2, 5)
    messages = [record.getMessage() for record in caplog.records]
    assert sum("unknown type" in line for line in messages) == 1
    assert sum("unreadable record" in line for line in messages) == 2


async def test_corrupt_batch_does_not_affect_other_batches(autojump_clock: MockClock) -> None:
    async with a_partition() as partition:
        put(partition, stored(0))
        broken = bytearray(encode_batch([stored(1), stored(2)]))
        broken[-1] ^= 0xFF
        write(partition, bytes(broken))
        put(partition, stored(3))

        seen, loaded = await read(partition.local_log())

    assert seen == [0, 3]
    assert (loaded.broken, loaded.end) == (1, 4)


async def test_transactional_records_are_replayed_with_their_producer_and_marker(
    autojump_clock: MockClock,
) -> None:
    async with a_partition() as partition:
        transaction = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
        put(partition, stored(0), transactional=True, **transaction)
        put(partition, stored(1))
        marker = Marker(committed=True, coordinator_epoch=0)
        write(partition, encode_marker(marker, producer_id=7, producer_epoch=0, timestamp=1))
        abort = Marker(committed=False, coordinator_epoch=0)
        write(partition, encode_marker(abort, producer_id=8, producer_epoch=0, timestamp=1))

        seen, _ = await read(partition.local_log())

    assert seen == [(7, 0), 1, (7, True), (8, False)]


class Passes(trio.abc.Instrument):
    """How often the loop went round."""

    count = 0

    def after_io_wait(self, timeout: float) -> None:
        self.count += 1


async def test_loading_yields_to_other_tasks(autojump_clock: MockClock) -> None:
    async with a_partition() as partition:
        for _ in range(5):
            put(partition, *(stored(number) for number in range(100)))
        readings = iter(range(1_000_000))
        passes = Passes()
        trio.lowlevel.add_instrument(passes)
        await load(
            partition.local_log,
            Reader(),
            GROUP_RECORDS,
            name="x-0",
            buffer=1 << 20,
            elapsed=lambda: float(next(readings)),  # each look is a second later
        )
        trio.lowlevel.remove_instrument(passes)

    assert passes.count > 20  # a slice is over after each twenty records


def kafkas_log() -> bytes:
    """`__consumer_offsets-0` as Apache Kafka 4.4 wrote it: groups of all kinds, a transaction."""
    with tarfile.open(DATA / "consumer_offsets.tar.gz") as archive:
        segment = archive.extractfile("__consumer_offsets-0/00000000000000000000.log")
        assert segment is not None
        return segment.read()


async def test_log_written_by_kafka_is_loaded_completely(autojump_clock: MockClock) -> None:
    machine = Groups((ClassicGroups,), simple=simple_group)
    async with a_partition() as partition:
        write(partition, kafkas_log())
        loaded = await load(
            partition.local_log,
            machine,
            GROUP_RECORDS,
            name="x-0",
            buffer=100,
            elapsed=trio.current_time,
        )

    assert (loaded.unknown, loaded.broken) == (0, 0)
    assert (loaded.end, loaded.records) == (41, 40)
    result = {
        (group, topic, partition): (value.offset, value.metadata)
        for group in machine.by_id
        for topic, partitions in machine.offsets.of_group(group).items()
        for partition, value in partitions.items()
    }
    assert result["sample-tx-group", "plain", 0] == (7, "m")
    assert machine.offsets.pending.open == 0


def test_reencoded_records_equal_the_bytes_written_by_kafka() -> None:
    content, seen = kafkas_log(), set()
    for position, header in iterate_headers(content):
        for record in [] if header.is_control else read_records(content, position, header):
            decoded = GROUP_RECORDS.decode(record.key or b"", record.value)
            assert GROUP_RECORDS.encode(decoded) == (record.key, record.value)
            latest = CoordinatorRecord(decoded.key, decoded.value)
            assert GROUP_RECORDS.encode(latest) == (record.key, record.value)
            seen.add(type(decoded.key))

    assert {OffsetCommitKey, GroupMetadataKey, ConsumerGroupMetadataKey} <= seen


async def test_loading_continues_when_the_replica_moves_to_another_directory(
    autojump_clock: MockClock,
) -> None:
    async with broker({"log.dirs": "/one,/two"}) as served:
        await served.create_topic("x")
        replicas = served.broker.replicas
        partition = replicas.partition("x", 0)
        for number in range(500):
            put(partition, stored(number))
        before, reader = partition.local_log(), Reader()
        file = before.segments.active.file
        here = served.broker.logs.directory_of(partition.at)
        assert here is not None
        at_the_end: list[Log] = []

        async with trio.open_nursery() as nursery:

            def elapsed() -> float:
                file.chill()  # type: ignore[attr-defined]  # each read waits for the disk
                return trio.current_time()

            async def load_all() -> None:
                times = {"name": "x-0", "buffer": 1, "elapsed": elapsed}
                await load(partition.local_log, reader, GROUP_RECORDS, **times)  # type: ignore[arg-type]
                at_the_end.append(partition.local_log())

            nursery.start_soon(load_all)
            other = {"/one": "/two", "/two": "/one"}[here.path]
            alter_log_dir(replicas, served.broker[LogMoves], partition.at, path=other)

    assert reader.seen == list(range(500))
    assert at_the_end != [before]
    assert before.closed
