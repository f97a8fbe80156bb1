"""Record the answers of a broker to produced batches, good and hostile, and its stored batches.

    python -m tests.apis.record_rules     record what Apache Kafka 4.4 does, into `data/`

The tests beside it hold this broker to the record. Times are relative to the moment of the request.
Records that are null are left out, as Apache Kafka never answers them.
"""

import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, Final

import trio
from attrs import frozen
from crc32c import crc32c

from tests.apis.kit import parts_of, produce_request
from tests.apis.record_cases import DAY, MINUTE, NAMED, Case, batch, cases, record
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from trio_kafka.protocol.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from trio_kafka.protocol.messages.k19_create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from trio_kafka.records.batch import iterate_headers
from trio_kafka.records.compression import Codec, decompress
from trio_kafka.records.header import CODEC_MASK, HEADER_SIZE, LOG_APPEND_TIME, BatchHeader
from trio_kafka.testing.processes import Address, broker_process
from trio_kafka.testing.scripted_client import connected, newest
from trio_kafka.world.real import RealWorld

RECORD: Final = Path(__file__).parent / "data" / "kafka-4.4-record-rules.txt"
LEVELS: Final = {"gzip": (1, 6, 9), "lz4": (1, 9, 12, 17), "zstd": (-50, 1, 3, 9, 22)}
SAMPLE_BYTES: Final = 256 << 10

Ask = Callable[[Any, int], Awaitable[Any]]
Answers = dict[str, list[str]]  # what was answered and stored, by case


@frozen
class Talk:
    """ask: sends a request. now_ms: the broker's clock."""

    ask: Ask
    now_ms: Callable[[], int]

    async def create(self, topic: str, configs: Mapping[str, str]) -> None:
        creatable_topic_configs = [
            CreatableTopicConfig(name, value) for name, value in configs.items()
        ]
        creatable_topic = CreatableTopic(topic, 1, 1, configs=creatable_topic_configs)
        answer = await self.ask(
            CreateTopicsRequest([creatable_topic], timeout_ms=30_000), newest(CreateTopicsRequest)
        )
        assert not answer.topics[0].error_code, answer
        while await self.end(topic) < 0:
            await trio.sleep(0.05)

    async def end(self, topic: str) -> int:
        """The end offset, -1 while there is no leader."""
        list_offsets_topic = ListOffsetsTopic(topic, [ListOffsetsPartition(0, timestamp=-1)])
        answer = await self.ask(ListOffsetsRequest(-1, topics=[list_offsets_topic]), 7)
        return int(answer.topics[0].partitions[0].offset)

    async def run(self, number: int, case: Case) -> list[str]:
        """Return the answers to the batches of a case, and the stored batches."""
        topic = f"rule-{number}"
        await self.create(topic, case.configs)
        lines = []
        now = self.now_ms()
        for make in case.batches:
            records = memoryview(bytearray(make(now)))
            (part,) = parts_of(await self.ask(produce_request(topic, (0, records)), case.version))
            lines.append(answer_text(part, now))
        stored = await self.fetch(topic)
        return [*lines, *(shown(stored, at, header, now) for at, header in iterate_headers(stored))]

    async def fetch(self, topic: str) -> memoryview:
        result = await self.read(topic, 0, NAMED)
        return memoryview(bytes(result.records or b""))

    async def read(self, topic: str, offset: int, version: int) -> Any:
        part = FetchPartition(0, fetch_offset=offset, partition_max_bytes=1 << 24)
        request = FetchRequest(
            max_wait_ms=0, isolation_level=1, topics=[FetchTopic(topic, partitions=[part])]
        )
        return (await self.ask(request, version)).responses[0].partitions[0]

    async def read_zstd(self) -> Answers:
        """Return the answers of Fetch versions for topics with zstd batches."""
        result: Answers = {}
        for target in ("zstd", "producer"):
            topic = f"read-{target}"
            await self.create(topic, {"compression.type": target})
            records = memoryview(bytearray(batch(codec=4, now=self.now_ms())))
            await self.ask(produce_request(topic, (0, records)), NAMED)
            for offset in (0, 3, 9):
                for version in (4, 9, 10, NAMED):
                    part = await self.read(topic, offset, version)
                    result[f"Fetch {version} of {target} at {offset}"] = [read_as(part)]
        return result

    async def pack(self) -> Answers:
        """How large a batch is on each level of each codec."""
        result: Answers = {}
        body = record(value=sample())
        for codec, levels in LEVELS.items():
            for level in levels:
                topic = f"level-{codec}-{level}"
                setting = f"compression.{codec}.level"
                await self.create(topic, {"compression.type": codec, setting: str(level)})
                records = batch(body, now=self.now_ms(), count=1, latest=0)
                await self.ask(produce_request(topic, (0, memoryview(bytearray(records)))), NAMED)
                result[f"level {level} of {codec}"] = [f"{len(await self.fetch(topic))} bytes"]
        return result


def answer_text(part: Any, now: int) -> str:
    errors = [each.batch_index for each in part.record_errors]
    appended = append_time(part.log_append_time_ms, now)
    listed = f" records {errors}" if errors else ""
    placed = f"offset {part.base_offset} time {appended} start {part.log_start_offset}"
    return f"{ErrorCode(part.error_code).name}{listed} {placed}"


def read_as(partition: Any) -> str:
    offsets = (
        f"{partition.high_watermark} {partition.last_stable_offset} {partition.log_start_offset}"
    )
    aborted = partition.aborted_transactions
    code = ErrorCode(partition.error_code).name
    return f"{code} offsets {offsets} aborted {aborted} {len(partition.records or b'')} bytes"


def append_time(timestamp: int, now: int) -> str:
    return "NOW" if 0 <= timestamp - now < 5 * MINUTE and timestamp > 0 else f"{timestamp}"


def relative(timestamp: int, now: int) -> str:
    return f"{timestamp}" if abs(timestamp) < DAY else f"{timestamp - now:+}"


def shown(stored: memoryview, at: int, header: BatchHeader, now: int) -> str:
    """A stored batch: its header, and a hash of its records."""
    late = header.attributes & LOG_APPEND_TIME
    latest = append_time(header.max_timestamp, now) if late else relative(header.max_timestamp, now)
    block = stored[at + HEADER_SIZE : at + header.size]
    covered = stored[at + 21 : at + header.size]
    whole = "" if crc32c(covered) == header.crc else " BAD CRC"
    try:
        plain = decompress(Codec(header.attributes & CODEC_MASK), block, 1 << 24)
        content = f"{len(plain)} bytes {sha256(plain).hexdigest()[:12]}"
    except (KafkaError, ValueError):
        content = f"unreadable {sha256(block).hexdigest()[:12]}"
    times = f"times {relative(header.base_timestamp, now)} to {latest}"
    return (
        f"  at {header.base_offset} to +{header.last_offset_delta}"
        f" attributes {header.attributes:#x} {times}"
        f" producer {header.producer_id} {header.producer_epoch} {header.base_sequence}"
        f" epoch {min(header.leader_epoch, 1)} count {header.count}: {content}{whole}"
    )


def sample() -> bytes:
    """Text that each level packs better than the one before."""
    random = Random(7)
    words = [random.randbytes(random.randrange(2, 9)).hex().encode() for _ in range(2000)]
    text = b" ".join(random.choice(words) for _ in range(SAMPLE_BYTES // 8))
    return text[:SAMPLE_BYTES]


async def run_all(talk: Talk) -> Answers:
    result: Answers = {}
    for number, each in enumerate(cases()):
        with trio.fail_after(60):
            result[each.name] = await talk.run(number, each)
    return {**result, **await talk.read_zstd(), **await talk.pack()}


def as_text(answers: Answers) -> str:
    return "".join(
        f"{name}\n" + "".join(f"  {line}\n" for line in lines) for name, lines in answers.items()
    )


def recorded() -> Answers:
    result: Answers = {}
    name = ""
    for line in RECORD.read_text().splitlines():
        if line.startswith("  "):
            result[name].append(line[2:])
        else:
            name, result[line] = line, []
    return result


async def ask_all(address: Address) -> Answers:
    """The answers of a broker process."""
    async with connected(RealWorld(), Endpoint(*address)) as client:
        return await run_all(Talk(client.ask, lambda: int(time.time() * 1000)))


def main() -> None:
    from tests.benchmarks.brokers import apache_kafka_command

    with (
        tempfile.TemporaryDirectory() as directory,
        broker_process(Path(directory), command=apache_kafka_command) as broker,
    ):
        RECORD.write_text(as_text(trio.run(ask_all, broker.address)))


if __name__ == "__main__":
    main()
