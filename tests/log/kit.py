"""Logs on simulated disks, batches, and the directories that Kafka wrote."""

import tarfile
from collections.abc import Iterable
from pathlib import Path

from tests.records.kit import encode_batch
from trio_kafka.introspect.tree import Node
from trio_kafka.log.append import append_as_leader
from trio_kafka.log.config import LogConfig
from trio_kafka.log.decompression import Decompression
from trio_kafka.log.files.open_files import OpenFiles
from trio_kafka.log.log import Log
from trio_kafka.log.read import find_slice, perform_now, read_bytes
from trio_kafka.log.recovery.partition import create_log, open_log
from trio_kafka.log.recovery.segment_loader import Recovery
from trio_kafka.model import TopicPartition
from trio_kafka.records.batch import Record, iterate_headers, read_header, read_records
from trio_kafka.records.file_range import FileRange
from trio_kafka.records.header import TRANSACTIONAL, BatchHeader
from trio_kafka.world.protocols import Directory
from trio_kafka.world.world import World

DATA = Path(__file__).parent / "data"
PARTITION = TopicPartition("t", 0)
SAMPLES = (
    ("plain", "plain-0"),
    ("epochs", "epochs-0"),
    ("logappend", "logappend-0"),
    ("trimmed", "trimmed-0"),
    ("compacted", "compacted-0"),
    ("txn", "txn-0"),
    ("gzip", "gzip-0"),
    ("snappy", "snappy-0"),
    ("lz4", "lz4-0"),
    ("zstd", "zstd-0"),
    ("running_indexes", "plain-0"),
    ("running_indexes", "txn-0"),
)
SAMPLE_INTERVAL = 100


def sample(archive: str) -> dict[str, dict[str, bytes]]:
    """Directory (or "") to file name to content."""
    directories: dict[str, dict[str, bytes]] = {}
    with tarfile.open(DATA / f"{archive}.tar.gz") as tar:
        for member in tar.getmembers():
            if member.isfile():
                folder, _, name = member.name.removeprefix("./").rpartition("/")
                directories.setdefault(folder, {})[name] = tar.extractfile(member).read()
    return directories


async def fill(directory: Directory, files: dict[str, bytes]) -> None:
    """Durable files with this content."""
    for name, content in files.items():
        file = directory.create(name)
        if content:
            file.append([content])
        await file.sync()
        file.close()
    await directory.sync()


async def sample_log(
    world: World, archive: str, folder: str, *, clean: bool = True, drop: str = "", start: int = 0
) -> Log:
    """The log of a directory that Kafka wrote; `drop`: without the files of this suffix."""
    directory = world.directory(f"/{folder}", create=True)
    files = sample(archive)[folder]
    await fill(directory, {k: v for k, v in files.items() if not drop or not k.endswith(drop)})
    recovery = Recovery(clean=clean, start_offset=start, cleaned_until=24)
    config = LogConfig(index_interval_bytes=SAMPLE_INTERVAL)
    return await open_log(world, directory, PARTITION, config=config, recovery=recovery)


def new_log(world: World, path: str = "/t-0", *, files: OpenFiles | None = None, **settings) -> Log:
    """An empty log."""
    root = world.directory(path, create=True)
    return create_log(world, root, PARTITION, config=LogConfig(**settings), files=files)


def batch(count: int = 1, *, size: int = 10, timestamp: int | None = None, **fields) -> bytearray:
    """A batch of records, as a producer sends it; its time is 1970's unless given."""
    time = -1 if timestamp is None else timestamp
    records = [
        Record(timestamp=time if time < 0 else time + number, value=bytes(size))
        for number in range(count)
    ]
    return bytearray(encode_batch(records, **fields))


def header(content: bytes | bytearray) -> BatchHeader:
    """Return the header of the first batch."""
    return read_header(content)


def headers(content: bytes | bytearray) -> list[BatchHeader]:
    return [header for _, header in iterate_headers(content)]


def append(log: Log, content: bytearray, epoch: int = 0):
    """Append each batch as leader, and let all be committed. Return the last append."""
    for position, each in iterate_headers(content):
        whole = memoryview(content)[position : position + each.size]
        appended = append_as_leader(log, whole, each, leader_epoch=epoch)
    log.high_watermark = log.end_offset
    return appended


async def read_all(log: Log, offset: int | None = None) -> list[Record]:
    """Every record from the start (or `offset`) on."""
    all_records: list[Record] = []
    offset = log.start_offset if offset is None else offset
    while content := await read_bytes(log, offset, 1 << 20):
        for position, header in iterate_headers(content):
            records = read_records(content, position, header)
            all_records += [record for record in records if record.offset >= offset]
            end = header.next_offset
        offset = end
    return all_records


async def scan(log: Log) -> list[tuple[int, int, BatchHeader]]:
    """(base offset of the segment, position, header) of every batch, by reading the files."""
    batches = []
    for segment in log.segments:
        content = bytearray(segment.size)
        await segment.file.read(0, content)
        batches += [(segment.base_offset, at, header) for at, header in iterate_headers(content)]
    return batches


async def content_of(directory: Directory, name: str) -> bytes:
    file = directory.open(name)
    content = bytearray(file.size)
    await file.read(0, content)
    file.close()
    return bytes(content)


def offsets(records: Iterable[Record]) -> list[int]:
    return [record.offset for record in records]


def decompression(world: World) -> Decompression:
    """A broker's memory for unpacked batches."""
    return Decompression(world, Node("broker", "broker"))


def read(
    log: Log, offset: int, max_bytes: int, end_offset: int, at_least_one: bool = True
) -> FileRange | None:
    """Lease what `find_slice` finds."""
    file_slice = perform_now(
        log, find_slice(log, offset, max_bytes, end_offset=end_offset, at_least_one=at_least_one)
    )
    return None if file_slice is None else file_slice.lease()


def produced(
    producer_id: int = 1,
    epoch: int = 0,
    sequence: int = 0,
    delta: int = 0,
    *,
    offset: int = 0,
    timestamp: int = 0,
    transactional: bool = False,
) -> BatchHeader:
    """The header of a batch of a producer."""
    attributes = TRANSACTIONAL * transactional
    times = (timestamp, timestamp)
    return BatchHeader(
        offset, 0, 0, 2, 0, attributes, delta, *times, producer_id, epoch, sequence, delta + 1
    )
