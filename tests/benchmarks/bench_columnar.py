"""Cost of decoding record batches to Arrow, beside aiokafka's Cython parser; and of encoding them.

    python -m tests.benchmarks.bench_columnar [--seconds S]

A figure is millions of records per second of CPU, the best of some runs that alternate between the
readers; all of them check checksums. aiokafka is timed twice: each record's key, value, offset and
timestamp looked at and dropped (`parsed`), and put into the Arrow columns that ours gives
(`to Arrow`). Ends with status 1 if one of the BOUNDS is missed: how many times faster ours must be.
"""

import argparse
import random
import sys
from collections.abc import Callable, Mapping
from typing import Final

import pyarrow as pa
from aiokafka.record.memory_records import MemoryRecords
from attrs import frozen

from tests.benchmarks.codec import cpu_us
from trio_kafka.model import TopicPartition
from trio_kafka.records.batch import Record, encode_batch
from trio_kafka.records.columnar import COLUMNS, decode, encode
from trio_kafka.records.compression import Codec

REPETITIONS: Final = 5
READ_COLUMNS: Final = ("key", "value", "offset", "timestamp")
FIRST_MS: Final = 1_700_000_000_000


@frozen(kw_only=True)
class Load:
    """A log of `records` records with values of `size` bytes, in batches of `batch` records."""

    records: int
    size: int
    batch: int
    codec: Codec = Codec.NONE


# Batches of 16 KiB where they are plain, of 128 KiB where they are compressed.
LOADS: Final = {
    "100 B": Load(records=150_000, size=100, batch=136),
    "1 KiB": Load(records=30_000, size=1024, batch=15),
    "100 B zstd": Load(records=150_000, size=100, batch=1085, codec=Codec.ZSTD),
    "100 B lz4": Load(records=150_000, size=100, batch=1085, codec=Codec.LZ4),
}
# Load, and how many times aiokafka's records per second of CPU.
BOUNDS: Final = {("100 B", "parsed"): 2.0}
Figures = Mapping[str, Mapping[str, float]]  # by load, then by reader


def records_of(load: Load) -> list[Record]:
    """Records that shrink to about a third, 50 in each millisecond."""
    words = random.Random(1).randbytes(1 << 15).hex().encode()
    rng = random.Random(2)
    return [
        Record(
            timestamp=FIRST_MS + n // 50,
            key=b"key-%06d" % (n % 100_000),
            value=words[(at := rng.randrange(1 << 15)) : at + load.size],
        )
        for n in range(load.records)
    ]


def log_of(load: Load) -> bytes:
    records = records_of(load)
    return b"".join(
        encode_batch(records[base : base + load.batch], base, codec=load.codec)
        for base in range(0, load.records, load.batch)
    )


def columns_of(load: Load) -> pa.RecordBatch:
    records = records_of(load)
    return pa.RecordBatch.from_pydict(
        {
            "key": pa.array([record.key for record in records], pa.binary()),
            "value": pa.array([record.value for record in records], pa.binary()),
            "timestamp": pa.array([record.timestamp for record in records], pa.int64()),
        }
    )


def decode_all(log: bytes, columns: tuple[str, ...] = READ_COLUMNS) -> int:
    """How many records there are, after they have been columns."""
    return sum(batch.num_rows for batch in decode(log, at=TopicPartition("t", 0), columns=columns))


def parse_aiokafka(log: bytes) -> int:
    result = 0
    batches = MemoryRecords(log)
    while batches.has_next():
        batch = batches.next_batch()
        assert batch.validate_crc()
        for record in batch:
            _ = record.key, record.value, record.offset, record.timestamp
            result += 1
    return result


def aiokafka_to_arrow(log: bytes) -> int:
    keys, values, offsets, times = [], [], [], []
    batches = MemoryRecords(log)
    while batches.has_next():
        batch = batches.next_batch()
        assert batch.validate_crc()
        for record in batch:
            keys.append(record.key)
            values.append(record.value)
            offsets.append(record.offset)
            times.append(record.timestamp)
    arrays = [
        pa.array(keys, pa.binary()),
        pa.array(values, pa.binary()),
        pa.array(offsets, pa.int64()),
        pa.array(times, pa.timestamp("ms", tz="UTC")),
    ]
    return int(pa.RecordBatch.from_arrays(arrays, names=list(READ_COLUMNS)).num_rows)


READERS: Final[Mapping[str, Callable[[bytes], int]]] = {
    "ours": decode_all,
    "ours, 8 columns": lambda log: decode_all(log, COLUMNS),
    "parsed": parse_aiokafka,
    "to Arrow": aiokafka_to_arrow,
}


def measure(loads: Mapping[str, Load], seconds: float) -> dict[str, dict[str, float]]:
    """Millions of records per second of CPU, by load and reader; `encode` is ours."""
    figures: dict[str, dict[str, float]] = {}
    for name, load in loads.items():
        row = figures[name] = {}
        log, columns = log_of(load), columns_of(load)
        size = len(log) // -(-load.records // load.batch) if load.codec is Codec.NONE else 1 << 17

        def write(columns: pa.RecordBatch = columns, load: Load = load, size: int = size) -> object:
            return encode(columns, codec=load.codec, timestamp_ms=0, batch_bytes=size)

        calls: dict[str, Callable[[], object]] = {
            reader: lambda read=read, log=log: read(log)  # type: ignore[misc]
            for reader, read in READERS.items()
        }
        for reader, read in READERS.items():
            if read(log) != load.records:
                raise ValueError(f"{reader} does not find {load.records} records of {name}")
        for _ in range(REPETITIONS):
            for label, call in (*calls.items(), ("encode", write)):
                speed = load.records / cpu_us(call, seconds / REPETITIONS)
                row[label] = max(speed, row.get(label, 0.0))
    return figures


def missed(figures: Figures) -> list[str]:
    """Violations of the bounds, in words."""
    return [
        f"{load}: {ratio:.2f} times aiokafka {reader}, want {bound:g}"
        for (load, reader), bound in BOUNDS.items()
        if (ratio := figures[load]["ours"] / figures[load][reader]) < bound
    ]


def table(figures: Figures) -> str:
    """One line a load: millions of records per second of CPU, and how ours compares."""
    titles = [*READERS, "ours/parsed", "ours/to Arrow", "encode"]
    lines = [f"{'M records/s':12}" + "".join(f"{title:>17}" for title in titles)]
    for name, row in figures.items():
        cells = [f"{row[reader]:.2f}" for reader in READERS]
        cells += [f"{row['ours'] / row[reader]:.2f}" for reader in ("parsed", "to Arrow")]
        cells.append(f"{row['encode']:.2f}")
        lines.append(f"{name:12}" + "".join(f"{cell:>17}" for cell in cells))
    return "\n".join(lines)


def main(arguments: list[str], loads: Mapping[str, Load] = LOADS) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.bench_columnar",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seconds", type=float, default=1.0, help="of each figure (%(default)s)")
    figures = measure(loads, parser.parse_args(arguments).seconds)
    print(table(figures))
    result = missed(figures)
    print(*(f"MISSED {line}" for line in result), sep="\n", end="\n" if result else "")
    return int(bool(result))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
