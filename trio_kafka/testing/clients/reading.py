"""Whole log of topics for the checkers, and the requests that read it.

A reader of its own: the log is what the clients are held against, so a fault of theirs must not be
in both. It also sees open transactions and the high watermark, which a consumer does not tell.
"""

from collections.abc import Collection, Mapping
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.clients.settings.reset import EARLIEST
from trio_kafka.errors import ErrorCode
from trio_kafka.model import Endpoint, TopicPartition
from trio_kafka.protocol.messages.k01_fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    PartitionData,
)
from trio_kafka.protocol.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from trio_kafka.records.batch import iterate_headers, read_records
from trio_kafka.records.committed import committed_batches
from trio_kafka.testing.clients.errors import check
from trio_kafka.testing.clients.link import Link
from trio_kafka.world.world import World

_FETCH: Final = 12  # the newest version that names topics
_LIST_OFFSETS: Final = 7
_METADATA: Final = 12
_MOST_BYTES: Final = 1 << 20


@frozen(kw_only=True)
class Fetched:
    """A record as a consumer has received it."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None


@frozen(kw_only=True)
class FetchedPartition:
    """Answer for one partition. end: the offset after the last batch, or the position.

    stable: last stable offset, which reading of committed records ends at.
    """

    error: ErrorCode
    high_watermark: int
    stable: int
    log_start: int
    end: int
    records: list[Fetched]


async def fetch(
    link: Link,
    positions: Mapping[TopicPartition, int],
    *,
    max_wait_s: float,
    max_bytes: int = _MOST_BYTES,
    committed: bool = False,
) -> dict[TopicPartition, FetchedPartition]:
    """Fetch from each position, without a session. Raises OSError, EOFError, AnswerError.

    committed: only records of no transaction or of committed ones (read_committed).
    """
    topics: dict[str, list[FetchPartition]] = {}
    for at, offset in positions.items():
        topics.setdefault(at.topic, []).append(
            FetchPartition(at.partition, fetch_offset=offset, partition_max_bytes=max_bytes)
        )
    request = FetchRequest(
        max_wait_ms=round(max_wait_s * 1000),
        min_bytes=1,
        isolation_level=int(committed),
        topics=[FetchTopic(name, partitions=parts) for name, parts in topics.items()],
    )
    answer = await link.ask(request, _FETCH, more_s=max_wait_s)
    check(answer.error_code)
    rows = {}
    for topic in answer.responses:
        for row in topic.partitions:
            at = TopicPartition(topic.topic, row.partition_index)
            rows[at] = _read(at, positions[at], row)
    return rows


def _read(at: TopicPartition, position: int, row: PartitionData) -> FetchedPartition:
    content = bytes(row.records) if isinstance(row.records, memoryview) else b""
    ends = [header.next_offset for _, header in iterate_headers(content)]
    aborted = [(each.producer_id, each.first_offset) for each in row.aborted_transactions or ()]
    records: list[Fetched] = []
    for place, header in committed_batches(content, aborted):
        records += [
            Fetched(
                topic=at.topic,
                partition=at.partition,
                offset=record.offset,
                timestamp_ms=record.timestamp,
                key=None if record.key is None else bytes(record.key),
                value=None if record.value is None else bytes(record.value),
            )
            for record in read_records(content, place, header)
            if record.offset >= position
        ]
    return FetchedPartition(
        error=ErrorCode(row.error_code),
        high_watermark=row.high_watermark,
        stable=row.last_stable_offset,
        log_start=row.log_start_offset,
        end=ends[-1] if ends else position,
        records=records,
    )


async def offset_for(link: Link, at: TopicPartition, timestamp_ms: int) -> int:
    """Return the offset for a timestamp, or for EARLIEST or LATEST. Raises as `fetch` does."""
    partition = ListOffsetsPartition(at.partition, timestamp=timestamp_ms)
    request = ListOffsetsRequest(-1, topics=[ListOffsetsTopic(at.topic, [partition])])
    answer = await link.ask(request, _LIST_OFFSETS)
    (row,) = answer.topics[0].partitions
    check(row.error_code)
    return row.offset


async def partitions_of(
    link: Link, topics: Collection[str] | None
) -> dict[str, list[TopicPartition]]:
    """Return the partitions of topics; None: of all but internal ones. Raises as `fetch` does."""
    names = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
    request = MetadataRequest(names, allow_auto_topic_creation=False)
    answer = await link.ask(request, _METADATA)
    partitions = {}
    for topic in answer.topics:
        if not topic.is_internal or topics is not None:
            check(topic.error_code)
            numbers = sorted(row.partition_index for row in topic.partitions)
            name = topic.name or ""
            partitions[name] = [TopicPartition(name, number) for number in numbers]
    return partitions


async def read_log(
    world: World,
    bootstrap: Endpoint,
    topics: Collection[str] | None = None,
    *,
    committed: bool = False,
    timeout_s: float = 60.0,
) -> dict[TopicPartition, dict[int, Fetched]]:
    """Read topics from their first record to the high watermark; None: all but internal ones.

    committed: only what read_committed consumers see; open transactions are waited for.
    Raises GaveUpError, also if a transaction stays open for `timeout_s`; AnswerError.
    """
    link = Link(world=world, bootstrap=bootstrap, client_id="trio-kafka-testing")
    try:
        partitions = await link.retry(lambda: partitions_of(link, topics), timeout_s)
        log: dict[TopicPartition, dict[int, Fetched]] = {}
        for at in (partition for parts in partitions.values() for partition in parts):
            log[at] = await _read_partition(link, at, committed=committed, timeout_s=timeout_s)
        return log
    finally:
        link.close()


async def _read_partition(
    link: Link, at: TopicPartition, *, committed: bool, timeout_s: float
) -> dict[int, Fetched]:
    position = await link.retry(lambda: offset_for(link, at, EARLIEST), timeout_s)
    records: dict[int, Fetched] = {}

    async def attempt() -> FetchedPartition:
        row = (await fetch(link, {at: position}, max_wait_s=0.0, committed=committed))[at]
        check(row.error)
        if row.end == position < row.high_watermark:
            raise EOFError(f"{at}: nothing at {position}, high watermark {row.high_watermark}")
        return row

    while True:
        row = await link.retry(attempt, timeout_s)
        records.update((record.offset, record) for record in row.records)
        if row.end >= row.high_watermark:
            return records
        position = row.end
