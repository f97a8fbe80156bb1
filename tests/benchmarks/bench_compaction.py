"""Cost of compaction: both passes over a fully dirty log, record by record and as vectors.

    python -m tests.benchmarks.bench_compaction [--records N]

A record has 100 bytes, and a quarter of the records has the latest value of its key. A figure is
millions of records per second of CPU, the best of some runs that alternate between the forms; each
run reads and writes files. `longest` is the most CPU between two pauses of a run in ms, in the run
where that was least. Ends with status 1 if one of the BOUNDS is missed.
"""

import argparse
import random
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from attrs import frozen

from trio_kafka.log.cleaner.cleaning import clean
from trio_kafka.log.cleaner.job import CleaningJob, CleaningRules, SealedFile, in_worker
from trio_kafka.log.files.names import LOG, offset_file
from trio_kafka.model import TopicPartition
from trio_kafka.records.batch import Record, encode_batch
from trio_kafka.records.compression import Codec
from trio_kafka.world.protocols import Directory
from trio_kafka.world.real.clock import MachineClock
from trio_kafka.world.real.storage import RealDirectory
from trio_kafka.world.real.volume import Volume

REPETITIONS: Final = 3
RECORDS: Final = 400_000
PER_KEY: Final = 4
VALUE: Final = 76  # bytes, with which a record of 16 bytes of key has 100
FIRST_MS: Final = 1_700_000_000_000
FORMS: Final = {"rows": False, "vectors": True}


@frozen
class Load:
    """Batches of this many records."""

    batch: int
    codec: Codec = Codec.NONE


LOADS: Final = {
    "one record": Load(1),
    "16 KiB": Load(160),
    "128 KiB lz4": Load(1280, Codec.LZ4),
    "128 KiB zstd": Load(1280, Codec.ZSTD),
}
# Least millions of records per second, by load and form.
BOUNDS: Final = {("16 KiB", "rows"): 0.2, ("16 KiB", "vectors"): 0.5}


@frozen
class Figure:
    """speed: millions of records per second of CPU. longest_ms: without a pause."""

    speed: float
    longest_ms: float


def write_log(directory: Directory, load: Load, records: int) -> CleaningJob:
    """Write one segment, and return the job that cleans it."""
    rng = random.Random(1)
    words = rng.randbytes(1 << 15).hex().encode()
    keys = max(1, records // PER_KEY)

    def records_of(base: int) -> list[Record]:
        return [
            Record(
                timestamp=FIRST_MS + offset,
                key=b"key-%012d" % rng.randrange(keys),
                value=words[(at := rng.randrange(1 << 15)) : at + VALUE],
            )
            for offset in range(base, base + load.batch)
        ]

    batches = [
        encode_batch(records_of(base), base, codec=load.codec)
        for base in range(0, records, load.batch)
    ]
    content = b"".join(batches)
    name = offset_file(0, LOG)
    file = directory.open(name) if directory.exists(name) else directory.create(name)
    file.truncate(0)
    file.append((content,))
    file.close()
    return CleaningJob(
        rules=CleaningRules(
            partition=TopicPartition("compacted", 0),
            now_ms=FIRST_MS,
            delete_retention_ms=86_400_000,
            dedupe_buffer_bytes=128 << 20,
            load_factor=0.9,
            io_buffer_bytes=512 << 10,
            segment_bytes=1 << 30,
            segment_index_bytes=10 << 20,
            index_interval_bytes=4096,
        ),
        segments=(SealedFile(base_offset=0, size=len(content), index_size=0, time_index_size=0),),
        first_dirty_offset=0,
        first_uncleanable_offset=len(batches) * load.batch,
    )


def run(directory: Directory, job: CleaningJob) -> Figure:
    """Clean once. ValueError: not all records were looked at."""
    work = in_worker(clean(directory, job))
    longest = 0.0
    begun = time.process_time()
    try:
        while True:
            step_begun = time.process_time()
            next(work)
            longest = max(longest, time.process_time() - step_begun)
    except StopIteration as stop:
        stats = stop.value.stats
    took = time.process_time() - begun
    if stats.messages_read != job.first_uncleanable_offset or stats.messages_written < 1:
        raise ValueError(f"cleaned {stats}, want {job.first_uncleanable_offset} records")
    return Figure(stats.messages_read / took / 1e6, longest * 1e3)


def better(first: Figure, second: Figure | None) -> Figure:
    if second is None:
        return first
    return Figure(max(first.speed, second.speed), min(first.longest_ms, second.longest_ms))


def measure(loads: Mapping[str, Load], records: int) -> dict[tuple[str, str], Figure]:
    """Return figures by load and form."""
    figures: dict[tuple[str, str], Figure] = {}
    with TemporaryDirectory() as place:
        path = str(Path(place))
        directory = RealDirectory(Volume(MachineClock(), 1, blocking=True), path)
        for name, load in loads.items():
            job = write_log(directory, load, records)
            for _ in range(REPETITIONS):
                for form, columnar in FORMS.items():
                    chosen = CleaningJob(
                        rules=job.rules,
                        segments=job.segments,
                        first_dirty_offset=0,
                        first_uncleanable_offset=job.first_uncleanable_offset,
                        columnar=columnar,
                    )
                    key = name, form
                    figures[key] = better(run(directory, chosen), figures.get(key))
    return figures


def missed(figures: Mapping[tuple[str, str], Figure]) -> list[str]:
    """Return the missed bounds, in words."""
    return [
        f"{load}, {form}: {figures[load, form].speed:.2f} M records/s, want {bound:g}"
        for (load, form), bound in BOUNDS.items()
        if figures[load, form].speed < bound
    ]


def table(figures: Mapping[tuple[str, str], Figure]) -> str:
    lines = [f"{'100 B records':16}{'form':10}{'M records/s':>12}{'longest ms':>12}"]
    lines += [
        f"{load:16}{form:10}{figure.speed:12.2f}{figure.longest_ms:12.1f}"
        for (load, form), figure in figures.items()
    ]
    return "\n".join(lines)


def main(arguments: list[str], loads: Mapping[str, Load] = LOADS) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.bench_compaction",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--records", type=int, default=RECORDS, help="of a log (%(default)s)")
    figures = measure(loads, parser.parse_args(arguments).records)
    print(table(figures))
    result = missed(figures)
    print(*(f"MISSED {line}" for line in result), sep="\n", end="\n" if result else "")
    return int(bool(result))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
