"""Log directories on real disks: made of batches of our own encoder, or written by Apache Kafka."""

import pickle
import struct
import tarfile
from collections.abc import Sequence
from pathlib import Path

from tests.records.kit import encode_batch
from trio_kafka.records.batch import Record, iterate_headers

SAMPLES = Path(__file__).parents[2] / "log" / "data"
TIME = 1_700_000_000_000
TOPIC = "t"


def batch(offset: int, count: int = 10, *, size: int = 20, **fields) -> bytes:
    """A batch of `count` records from `offset` on; keys and values name the offset."""
    records = [
        Record(
            offset=at,
            timestamp=TIME + at,
            key=b"k%d" % (at % 7),
            value=b"%d" % at + b"." * size,
            headers=[("h", b"%d" % at)],
        )
        for at in range(offset, offset + count)
    ]
    return encode_batch(records, offset, **fields)


def partition(root: Path, number: int = 0, topic: str = TOPIC) -> Path:
    directory = root / f"{topic}-{number}"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def segment(
    directory: Path, batches: Sequence[bytes], *, base: int | None = None, interval: int = 0
) -> Path:
    """Write a segment of these batches. interval: bytes between index entries, 0: no index."""
    content = b"".join(batches)
    headers = list(iterate_headers(content))
    base = headers[0][1].base_offset if base is None else base
    path = directory / f"{base:020}.log"
    path.write_bytes(content)
    if interval:
        entries, indexed = b"", 0
        for position, header in headers:
            if position - indexed > interval:
                entries += struct.pack(">II", header.last_offset - base, position)
                indexed = position
        path.with_suffix(".index").write_bytes(entries)
    return path


def log(
    root: Path, *, segments: int = 3, batches: int = 4, count: int = 10, interval: int = 0, **fields
) -> Path:
    """A partition with segments of several batches each; offsets from 0 on without gaps."""
    directory = partition(root)
    offset = 0
    for _ in range(segments):
        some = []
        for _ in range(batches):
            some.append(batch(offset, count, **fields))
            offset += count
        segment(directory, some, interval=interval)
    return directory


def flip(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 0xFF
    path.write_bytes(content)


def positions(path: Path) -> list[int]:
    """Where the batches of a segment begin."""
    return [position for position, _ in iterate_headers(path.read_bytes())]


def sample(root: Path, archive: str) -> Path:
    """A directory that Apache Kafka wrote, below `root`."""
    with tarfile.open(SAMPLES / f"{archive}.tar.gz") as tar:
        tar.extractall(root, filter="data")
    return root


def rows(root: Path, columns: Sequence[str] | None = None, **options) -> list[dict]:
    """The rows of a view, in order, read as Spark reads them: each object pickled on its way."""
    from trio_kafka_spark.log.reader import LogReader

    if options.get("view", "records") == "records" and not {"subscribePattern", "assign"} & set(
        options
    ):
        options.setdefault("subscribe", TOPIC)
    reader = LogReader({"path": str(root), **options})
    if columns is not None:
        reader.columns = tuple(columns)
    reader = pickle.loads(pickle.dumps(reader))
    all_rows = []
    for planned in pickle.loads(pickle.dumps(reader.partitions())):
        for batch_of_rows in reader.read(planned):
            assert tuple(batch_of_rows.schema.names) == reader.columns
            all_rows += batch_of_rows.to_pylist()
    return all_rows
