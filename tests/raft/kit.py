"""Metadata logs on simulated disks: formatted ones, and those that Kafka wrote."""

import gzip
import json
import re
import tarfile
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import trio
from attrs import frozen

from trio_kafka.introspect.tree import Node
from trio_kafka.log.config import LogConfig
from trio_kafka.metadata.features import LATEST_LEVEL
from trio_kafka.metadata.publisher import Loader, Publisher
from trio_kafka.metadata.source import MetadataRecord
from trio_kafka.model import NodeId
from trio_kafka.raft.batches import MetadataBatch
from trio_kafka.raft.driver import RaftDriver, open_quorum
from trio_kafka.raft.format import format_metadata
from trio_kafka.raft.retention import Retention
from trio_kafka.raft.store import open_store
from trio_kafka.raft.voters import Voter, VoterEndpoint, VoterSet
from trio_kafka.world.world import World

DATA = Path(__file__).parent / "data"
ROOT = "/kafka"
NODE_1 = NodeId(1)
DIRECTORY_ID = bytes(range(16))
STATIC = VoterSet(0, (Voter(NODE_1),))
CONFIG = LogConfig(segment_bytes=8 << 20)


async def format_root(world: World, level: int = 33) -> None:
    """Format the metadata log as `format` does."""
    await format_metadata(
        world.directory(ROOT, create=True),
        node_id=NODE_1,
        directory_id=DIRECTORY_ID,
        endpoints=[VoterEndpoint("CONTROLLER", "localhost", 9093)],
        now_ms=1_000,
        level=level,
    )


async def put_sample(world: World, name: str, *, without: str = "-") -> None:
    """The `__cluster_metadata-0` of a sample, durable, but for files whose names end so."""
    root = world.directory(ROOT, create=True)
    with tarfile.open(DATA / f"{name}.tar.gz") as archive:
        for member in archive:
            folder, _, file_name = member.name.partition("/")
            member_file = archive.extractfile(member)
            if not file_name or member_file is None or file_name.endswith(without):
                continue
            directory = root.directory(folder, create=True)
            file = directory.create(file_name)
            file.append([member_file.read()])
            await file.sync()
            file.close()
            await directory.sync()
    await root.sync()


KEPT = Retention()


def append(driver: RaftDriver, records: Sequence[MetadataRecord], epoch: int, level: int) -> int:
    """The end of a batch of these records."""
    batch = driver.batch(level)
    for record in records:
        batch.add(record)
    return batch.append(epoch)


def encode_records(
    records: Iterable[MetadataRecord], *, base_offset: int, epoch: int, timestamp_ms: int
) -> bytes:
    """One batch, with the newest versions of its records."""
    batch = MetadataBatch(LATEST_LEVEL, timestamp_ms)
    for record in records:
        batch.add(record)
    return batch.seal(base_offset, epoch)


@asynccontextmanager
async def running_quorum(
    world: World,
    *,
    config: LogConfig = CONFIG,
    publishers: tuple[Publisher, ...] = (),
    retention: Retention = KEPT,
) -> AsyncIterator[tuple[RaftDriver, Loader]]:
    """Driver and loader of a directory, both started."""
    node = Node("broker", "broker")
    store = await open_store(
        world, world.directory(ROOT), config, static=STATIC, retention=retention
    )
    driver = await open_quorum(store, node_id=NODE_1, directory_id=DIRECTORY_ID, node=node)
    loader = Loader(driver, publishers, cluster_id="c", elapsed=world.clock.elapsed, node=node)
    async with trio.open_nursery() as nursery:
        await nursery.start(driver.run)
        await nursery.start(loader.run)
        yield driver, loader
        nursery.cancel_scope.cancel()


@frozen
class Dumped:
    """A metadata record as Kafka's own tool prints it."""

    offset: int
    type: str
    version: int
    data: dict[str, object]


_OFFSET = re.compile(r"\| offset: (\d+) .* payload: (\{.*\})$")


def dumped(name: str) -> dict[str, list[Dumped]]:
    """The metadata records of a sample by file, from the tool's text."""
    files: dict[str, list[Dumped]] = {}
    for line in _lines(name):
        if line.startswith("Dumping "):
            records = files.setdefault(line.rpartition("/")[2], [])
        elif match := _OFFSET.match(line):
            payload = json.loads(match[2])
            records.append(
                Dumped(int(match[1]), payload["type"], payload["version"], payload["data"])
            )
    return files


def _lines(name: str) -> Iterator[str]:
    with gzip.open(DATA / f"{name}.txt.gz", "rt") as text:
        for line in text:
            yield line.rstrip("\n")
