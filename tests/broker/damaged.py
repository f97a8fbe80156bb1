"""A data directory that a broker wrote, damaged in one file, and the next start on it."""

import logging
from collections.abc import Mapping
from functools import cache
from typing import Any

import trio
from attrs import frozen

from tests.log.kit import sample
from trio_kafka.broker.errors import StartError
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError, leaves
from trio_kafka.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from trio_kafka.records.batch import (
    Record,
    check_crc,
    encode_batch,
    iterate_headers,
    read_records,
)
from trio_kafka.replication.leader.append import append
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import run_simulated, run_until_crash
from trio_kafka.world.simulated import SimulatedWorld, Universe

Files = dict[str, bytes]
DATA = "/data"
SETTINGS = {
    "metadata.log.max.record.bytes.between.snapshots": "1",
    "log.flush.offset.checkpoint.interval.ms": "1000",
    "log.flush.start.offset.checkpoint.interval.ms": "1000",
}
CONFIGS = {"segment.ms": "60000", "index.interval.bytes": "100", "retention.ms": "-1"}
FOUND_BY_CLIENT = -2
TOPICS = ("t", "txn", "u")


@frozen(kw_only=True)
class Seen:
    """Outcome of a start on damaged files.

    refused: why it did not start. logged: events of log lines from warnings up. records: offsets
    that a consumer of each topic reads, to the first error. aborted: of "txn".
    """

    refused: str = ""
    logged: tuple[str, ...] = ()
    records: Mapping[str, list[int]] = {}
    errors: Mapping[str, int] = {}
    aborted: int = 0


def files_in(world: SimulatedWorld, path: str = DATA) -> Files:
    """Content of every file below a directory, by its path from there."""
    files: Files = {}
    directory = world.directory(path)
    for name in directory.names():
        try:
            inside = files_in(world, f"{path}/{name}")
        except NotADirectoryError:
            file = directory.open(name)
            content = bytearray(file.size)
            file._copy(0, memoryview(content))
            files[name] = bytes(content)
            file.close()
        else:
            files |= {f"{name}/{inner}": content for inner, content in inside.items()}
    return files


def put(world: SimulatedWorld, files: Files) -> None:
    """Durable files with this content."""
    for path, content in files.items():
        directory = world.directory(DATA, create=True)
        *folders, name = path.split("/")
        for folder in folders:
            directory = directory.directory(folder, create=True)
        file = directory.create(name)
        if content:
            file.append([content])


def produce(served: ServedBroker, topic: str, count: int = 2) -> None:
    """One batch, of the time that it is."""
    now = int(served.broker.world.clock.wall() * 1000)
    records = [Record(timestamp=now, value=bytes(100)) for _ in range(count)]
    batch = memoryview(bytearray(encode_batch(records)))
    append(served.broker.replicas.partition(topic, 0), batch, acks=1)


@cache
def written(*, clean: bool) -> Mapping[str, bytes]:
    """Files of a broker that ended in order, or at once: topics "t" of three segments, "u" of one,
    and "txn" with the aborted transactions of a directory of Kafka's.
    """
    files: Files = {}

    async def main(universe: Universe) -> None:
        world = universe.machine("broker")

        async def life(world: SimulatedWorld) -> None:
            async with served_broker(world, SETTINGS) as served:
                for topic in TOPICS:
                    await served.create_topic(topic, configs=CONFIGS)
                produce(served, "u")
                for _ in range(3):
                    produce(served, "t")
                    produce(served, "t")
                    await trio.sleep(61)
                if not clean:
                    await trio.sleep_forever()

        await run_until_crash(world, life, float("inf") if clean else 200.0, power=False)
        files.update(files_in(universe.machine("broker")))

    run_simulated(main, 0)
    if not clean:
        # The kill came before the last snapshot, whenever the seed has it written.
        del files[max(path for path in files if path.endswith(".checkpoint") and "/0" in path)]
    of_txn = sample("txn")["txn-0"]
    for path in [path for path in files if path.startswith("txn-0/0000")]:
        del files[path]
    files.update(
        {f"txn-0/{name}": content for name, content in of_txn.items() if "partition" not in name}
    )
    return files


def start_with(files: Files, caplog: Any) -> Seen:
    """Start a broker on these files, read all topics, and stop it."""
    outcomes: list[Seen] = []

    async def main(universe: Universe) -> None:
        world = universe.machine("broker")
        put(world, files)
        try:
            async with served_broker(world, SETTINGS) as served:
                records, errors, aborted = {}, {}, 0
                for topic in TOPICS:
                    records[topic], errors[topic], count = await read_topic(served, topic)
                    aborted += count
                outcomes.append(Seen(records=records, errors=errors, aborted=aborted))
        except (Exception, BaseExceptionGroup) as error:
            reasons = [leaf for leaf in leaves(error) if isinstance(leaf, StartError | LogDirError)]
            if not reasons:
                raise
            outcomes.append(Seen(refused=str(reasons[0])))

    with caplog.at_level("WARNING"):
        run_simulated(main, 0)
    seen = outcomes[0]
    # Warnings and errors: another test may have left a logger at a lower level.
    messages = tuple(
        record.msg
        for record in caplog.records
        if record.name.startswith("trio_kafka") and record.levelno >= logging.WARNING
    )
    return Seen(
        refused=seen.refused,
        logged=messages,
        records=seen.records,
        errors=seen.errors,
        aborted=seen.aborted,
    )


async def read_topic(served: ServedBroker, topic: str) -> tuple[list[int], int, int]:
    """Offsets to the end, or to the first error; its code; how many transactions were aborted."""
    image = served.broker.metadata.image.topics.get(topic)
    if image is None:
        return [], int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), 0
    log = served.broker.logs.get(served.broker.replicas.partition(topic, 0).at)
    offsets: list[int] = []
    aborted: set[tuple[int, int]] = set()
    offset = log.start_offset if log else 0
    while True:
        partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
        answer = await served.ask(
            FetchRequest(
                topics=[FetchTopic(topic_id=image.id, partitions=[partition])],
                max_wait_ms=100,
                min_bytes=1,
                isolation_level=1,
                max_bytes=1 << 20,
            )
        )
        if not answer.responses:
            return offsets, answer.error_code, len(aborted)
        (part,) = answer.responses[0].partitions
        aborted |= {
            (transaction.producer_id, transaction.first_offset)
            for transaction in part.aborted_transactions or ()
        }
        if part.error_code or not part.records:
            return offsets, part.error_code, len(aborted)
        try:
            for position, header in iterate_headers(part.records):
                check_crc(part.records, position, header)
                if not header.is_control:
                    records = read_records(part.records, position, header)
                    offsets += [record.offset for record in records if record.offset >= offset]
                offset = header.next_offset
        except KafkaError:
            return offsets, FOUND_BY_CLIENT, len(aborted)
