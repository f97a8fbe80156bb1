"""Sinks of the request log: the broker's own log, a file, or a topic."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Protocol

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.config.trio_settings import reject_internal_topic
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.metadata.publisher import MetadataCache
from trio_kafka.records.batch import Record, encode_batch
from trio_kafka.replication.leader.append import append_own
from trio_kafka.replication.table import Replicas
from trio_kafka.world.protocols import Directory, File
from trio_kafka.world.world import World

LOGGER: Final = "kafka.request.logger"  # Kafka's name, by which operators set its level
MAX_FILE_BYTES: Final = 64 << 20
MAX_BATCH_CHARACTERS: Final = 256 << 10
RETRY_S: Final = 0.5  # between two attempts to find a topic that is being created
ATTEMPTS: Final = 20

_lines: Final = get_logger(LOGGER)


class Sink(Protocol):
    """Target of lines."""

    async def write(self, lines: Sequence[str]) -> None:
        """Write lines; they are not retried. Raises OSError, KafkaError."""


class LoggerSink:
    """Sink into the broker's own log, at the level of Kafka's request log."""

    async def write(self, lines: Sequence[str]) -> None:
        for line in lines:
            _lines.debug("Completed request:%s", line)
        await trio.lowlevel.checkpoint()


class FileSink:
    """Sink into a file. A full file is renamed to `.1` and replaces the last one."""

    def __init__(self, world: World, path: str, largest: int = MAX_FILE_BYTES) -> None:
        self._world = world
        place, _, self._name = path.rpartition("/")
        self._place = place or "."
        self._largest = largest
        self._directory: Directory | None = None
        self._file: File | None = None

    async def write(self, lines: Sequence[str]) -> None:
        data = "".join(f"{line}\n" for line in lines).encode()
        file = self._file or self._open()
        if file.size and file.size + len(data) > self._largest:
            file = self._roll(file)
        await file.append_slow([data])

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> File:
        if self._directory is None:
            self._directory = self._world.directory(self._place, create=True, threads=1)
        there = self._directory.exists(self._name)
        make = self._directory.open if there else self._directory.create
        self._file = make(self._name)
        return self._file

    def _roll(self, file: File) -> File:
        file.close()
        self._file = None
        if self._directory is not None:
            self._directory.rename(self._name, f"{self._name}.1")
        return self._open()


@define(eq=False)
class TopicSink:
    """Sink into a topic; the batches rotate over its partitions. A missing topic is created.

    Raises ValueError for an internal topic.
    """

    topic: str
    _replicas: Replicas = field(kw_only=True)
    _metadata: MetadataCache = field(kw_only=True)
    _create: Callable[[list[str]], None] = field(kw_only=True)
    _wall: Callable[[], float] = field(kw_only=True)
    _next: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        reject_internal_topic(self.topic)

    async def write(self, lines: Sequence[str]) -> None:
        count = await self._partitions()
        now_ms = int(self._wall() * 1000)
        for some in in_batches(lines):
            records = [Record(timestamp=now_ms, value=line.encode()) for line in some]
            partition = self._replicas.partition(self.topic, self._next % count)
            self._next += 1
            append_own(partition, memoryview(bytearray(encode_batch(records))), acks=1)
            await trio.lowlevel.checkpoint()

    async def _partitions(self) -> int:
        """Return the number of partitions; request the topic and wait for it if it is missing.

        Raises KafkaError after 10 s.
        """
        for _ in range(ATTEMPTS):
            topic = self._metadata.image.topics.get(self.topic)
            if topic is not None:
                await trio.lowlevel.checkpoint()
                return len(topic.partitions)
            self._create([self.topic])
            await trio.sleep(RETRY_S)
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, self.topic)


def in_batches(lines: Sequence[str], largest: int = MAX_BATCH_CHARACTERS) -> Iterator[list[str]]:
    """Split lines into lists of at most `largest` characters, or of one line."""
    some: list[str] = []
    size = 0
    for line in lines:
        if some and size + len(line) > largest:
            yield some
            some, size = [], 0
        some.append(line)
        size += len(line)
    if some:
        yield some
