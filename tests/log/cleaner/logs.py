"""Compacted logs on simulated disks, with the cleaner that works on them."""

from collections.abc import Iterable

from tests.log.kit import append, read_all
from tests.log.managers import format_directory, started
from tests.records.kit import encode_batch
from trio_kafka.introspect.tree import Node
from trio_kafka.log.cleaner.log_cleaner import LogCleaner
from trio_kafka.log.cleaner.settings import CleanerSettings
from trio_kafka.log.config import LogConfig
from trio_kafka.log.log import Log
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.model import TopicId, TopicPartition
from trio_kafka.records.batch import Record
from trio_kafka.world.world import World

COMPACT = frozenset({"compact"})
C0 = TopicPartition("c", 0)
TOPIC_ID = TopicId(bytes(range(16)))
Pair = tuple[str, str | None]


def compacted(**settings: object) -> LogConfig:
    """Settings of a compacted log with small segments."""
    return LogConfig(**{"cleanup_policy": COMPACT, "segment_bytes": 300, **settings})


async def managed(
    world: World, *, fresh: bool = True, root: str = "/data", **settings: object
) -> LogManager:
    """A log manager whose logs are compacted."""
    if fresh:
        await format_directory(world, root)
    return await started(world, root, config=compacted(**settings))


def new_log(manager: LogManager, at: TopicPartition = C0, **settings: object) -> Log:
    return manager.create(at, TOPIC_ID, compacted(**settings))


def keyed(pairs: Iterable[Pair], timestamp: int = -1, **fields: object) -> bytearray:
    """A batch of these keys and values."""
    records = [
        Record(
            timestamp=timestamp,
            key=key.encode(),
            value=None if value is None else value.encode(),
        )
        for key, value in pairs
    ]
    return bytearray(encode_batch(records, **fields))


def write(log: Log, *pairs: Pair, timestamp: int | None = None) -> None:
    """Append one batch for each pair, now unless told otherwise."""
    time = log.now_ms() if timestamp is None else timestamp
    for pair in pairs:
        append(log, keyed([pair], time))


def fill_log(log: Log, keys: int = 5, rounds: int = 8) -> None:
    """Write each key once a round, the number of the round as its value."""
    for number in range(rounds):
        write(log, *((f"k{key}", f"{number}-{'x' * 20}") for key in range(keys)))


def new_cleaner(manager: LogManager, **settings: object) -> LogCleaner:
    return LogCleaner(manager, CleanerSettings(**settings), Node("broker", "broker"))


async def content(log: Log) -> dict[str, str | None]:
    """The last value of each key that a reader finds."""
    return {
        record.key.decode(): None if record.value is None else record.value.decode()
        for record in await read_all(log)
    }


async def all_pairs(log: Log) -> list[tuple[int, str, str | None]]:
    """Offset, key and value of every record."""
    return [
        (record.offset, record.key.decode(), record.value and record.value.decode())
        for record in await read_all(log)
    ]
