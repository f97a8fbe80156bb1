"""Cost of the metadata of many partitions: replay, one change, a snapshot. No broker is started.

    python tests/benchmarks/bench_metadata.py [topics] [partitions of each]

CPU is that of this thread; memory is what this process has more than before. The collector of
cyclic garbage is set as in a broker.
"""

import resource
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice

from tests.raft.kit import encode_records
from trio_kafka.broker.collector import long_lived_frozen
from trio_kafka.metadata.dump import records_of
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.metadata.image_builder import ImageBuilder
from trio_kafka.metadata.source import Committed, MetadataRecord
from trio_kafka.protocol.stored.metadata.features import FeatureLevelRecord
from trio_kafka.protocol.stored.metadata.topics import (
    PartitionChangeRecord,
    PartitionRecord,
    TopicRecord,
)
from trio_kafka.raft.batches import read_metadata
from trio_kafka.records.batch import iterate_headers

LEVEL = 33
BATCH = 128  # records, as in a snapshot


def topic(number: int, partitions: int) -> list[MetadataRecord]:
    topic_id = (1000 + number).to_bytes(16)
    records: list[MetadataRecord] = [TopicRecord(name=f"topic-{number}", topic_id=topic_id)]
    records += [
        PartitionRecord(
            partition_id=at,
            topic_id=topic_id,
            replicas=[1],
            isr=[1],
            leader=1,
            directories=[bytes(15) + b"\x07"],
        )
        for at in range(partitions)
    ]
    return records


class Cluster:
    """Metadata that grow by batches; `steps_s`: CPU between pauses, of the last batch."""

    def __init__(self) -> None:
        self.assembly = ImageBuilder("cluster")
        self.steps_s: list[float] = []
        self.offset = 0

    def take(self, records: list[MetadataRecord], *, snapshot: bool = False) -> float:
        """The CPU seconds of replay and a new image."""
        self.offset += len(records)
        batch = Committed(
            next_offset=self.offset, epoch=1, timestamp_ms=1, records=records, snapshot=snapshot
        )
        self.steps_s.clear()
        began = last = time.thread_time()
        for _ in self.assembly.take(batch):
            now = time.thread_time()
            self.steps_s.append(now - last)
            last = now
        self.assembly.finish()
        self.steps_s.append(time.thread_time() - last)
        return time.thread_time() - began


def encoded(image: MetadataImage) -> Iterator[bytes]:
    """A snapshot's batches."""
    rest = iter(records_of(image))
    offset = 0
    while batch := list(islice(rest, BATCH)):
        yield encode_records(batch, base_offset=offset, epoch=1, timestamp_ms=1)
        offset += len(batch)


def decoded(batch: bytes) -> list[MetadataRecord]:
    view = memoryview(batch)
    return [
        record
        for position, header in iterate_headers(view)
        for record in read_metadata(view, position, header)
    ]


def cpu_s(call: Callable[[], object]) -> float:
    began = time.thread_time()
    call()
    return time.thread_time() - began


def tell(name: str, value: float, unit: str) -> None:
    print(f"{name:44}{value:10.2f} {unit}")


def main(topics: int = 10_000, partitions: int = 10) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cluster = Cluster()
    cluster.take([FeatureLevelRecord(name="metadata.version", feature_level=LEVEL)])
    tell("create, topic by topic", sum(create(cluster, topics, partitions)), "s")
    result = list(change(cluster, 300))
    tell("one change published: mean", sum(result) / len(result) * 1e3, "ms")
    tell("one change published: longest", max(result) * 1e3, "ms")
    result = [cluster.take(topic(topics + at, 1)) for at in range(600)]
    tell("one more topic published: mean", sum(result) / len(result) * 1e3, "ms")
    tell("one more topic published: longest", max(result) * 1e3, "ms")
    steps = encoded(cluster.assembly.published)
    batches: list[bytes] = []
    took = [cpu_s(lambda: batches.extend(islice(steps, 1))) for _ in range(topics * partitions)]
    tell("snapshot written", sum(took), "s")
    tell("snapshot written: longest step", max(took) * 1e3, "ms")
    records: list[MetadataRecord] = []
    took = [cpu_s(lambda batch=batch: records.extend(decoded(batch))) for batch in batches]
    other = Cluster()
    replay_s = other.take(records, snapshot=True)
    tell("snapshot read and replayed", sum(took) + replay_s, "s")
    tell("snapshot read: longest step", max(took) * 1e3, "ms")
    tell("snapshot replayed: longest step", max(other.steps_s) * 1e3, "ms")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    tell("memory at most, of both", peak * 1024 / 1e6, "MB")


def create(cluster: Cluster, topics: int, partitions: int) -> Iterator[float]:
    for number in range(topics):
        yield cluster.take(topic(number, partitions))


def change(cluster: Cluster, count: int) -> Iterator[float]:
    for number in range(count):
        topic_id = (1000 + number % 100).to_bytes(16)
        yield cluster.take([PartitionChangeRecord(partition_id=0, topic_id=topic_id, leader=1)])


if __name__ == "__main__":
    with long_lived_frozen(time.perf_counter):
        main(*map(int, sys.argv[1:]))
