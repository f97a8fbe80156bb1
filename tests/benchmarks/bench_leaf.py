"""Cost of the compiled leaf beside its Python twin, in one process, in turn.

    python -m tests.benchmarks.bench_leaf [--scale N]

A figure is µs of CPU, the least of some runs; the ratio is the median of those of single runs, each
beside the twin's run next to it. Records have 100 bytes, 150 in a batch; headers are those of
batches of 1 kB. Ends with status 1 if one of the BOUNDS is missed.
"""

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any, Final

import trio
from attrs import frozen

from tests.records.kit import twin
from tests.replication.kit import batch as sent_batch
from tests.replication.kit import new_partition
from trio_kafka.coordinators.groups.classic.submachine import ClassicGroups, simple_group
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.stored_records import GROUP_RECORDS
from trio_kafka.coordinators.shards.effects import CoordinatorRecord
from trio_kafka.coordinators.shards.loading import load
from trio_kafka.protocol.stored.groups.classic import OffsetCommitKey, OffsetCommitValue
from trio_kafka.records.batch import Record, decode_records, encode_batch
from trio_kafka.records.header import (
    HEADER_SIZE,
    STAMP,
    check_crc,
    iterate_and_check,
    iterate_headers,
    read_header,
)
from trio_kafka.records.leaf import leaf
from trio_kafka.records.record_checks import walk_records
from trio_kafka.records.validate import Limits
from trio_kafka.replication.follower.append import FetchedRecords, append_fetched
from trio_kafka.replication.leader.append import append, append_own
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.settings import PartitionSettings
from trio_kafka.scheduling.chunked_work import whole
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.real import RealWorld

REPETITIONS: Final = 9
NOW_MS: Final = 1_700_000_000_000
RECORDS: Final = 150
BATCHES: Final = 1000
COMMITS: Final = 1_000_000
COMMITS_A_BATCH: Final = 20
# The leaf's cost at most, times the twin's.
BOUNDS: Final = {
    "check of a record": 0.05,
    "decode": 0.1,
    "encode": 0.15,
    "follower append, 1 kB batches": 0.5,
    "load of commits": 0.65,
}


@frozen
class Unit:
    """A call, how many things it treats, and what makes its argument, beside the measurement."""

    call: Callable[[Any], object]
    count: int
    argument: Callable[[], object] = lambda: None


@frozen
class Figure:
    """µs of CPU for each thing, and the ratio."""

    twin_us: float
    leaf_us: float
    ratio: float


def record_units() -> dict[str, Unit]:
    """Units over the records of one batch, and over the headers of many."""
    records = [Record(timestamp=NOW_MS, key=b"k%d" % n, value=b"v" * 90) for n in range(RECORDS)]
    batch = encode_batch(records)
    header, data = read_header(batch), batch[HEADER_SIZE:]
    blob = encode_batch([Record(timestamp=NOW_MS, value=b"v" * 950)]) * BATCHES
    limits = Limits()

    def check(_: object) -> int:
        return whole(walk_records(data, header, limits, now_ms=NOW_MS, need_keys=False))

    def checked_headers(_: object) -> None:
        for position, of_batch, is_checked in iterate_and_check(blob):
            if not is_checked:
                check_crc(blob, position, of_batch)

    return {
        "check of a record": Unit(check, RECORDS),
        "decode": Unit(lambda _: [*decode_records(data, header)], RECORDS),
        "encode": Unit(lambda _: encode_batch(records), RECORDS),
        "header": Unit(lambda _: [*iterate_headers(blob)], BATCHES),
        "header and checksum": Unit(checked_headers, BATCHES),
    }


def append_units(path: str) -> dict[str, Unit]:
    """Units that write to files below a path."""
    world = RealWorld()
    following, _ = new_partition(world, 1, 2, leader=2, epoch=3, path=f"{path}/following")
    leading, _ = new_partition(
        world, 1, settings=PartitionSettings(walk=True), path=f"{path}/leading"
    )
    plain, _ = new_partition(world, 1, path=f"{path}/plain")
    batch = sent_batch(size=950)
    small = encode_batch([Record(timestamp=int(time.time() * 1000), value=b"v" * 100)])

    def fetched() -> FetchedRecords:
        end = following.local_log(3, leader_only=False).end_offset
        content = bytearray(bytes(batch) * BATCHES)
        for number in range(BATCHES):
            place = number * len(batch)
            STAMP.pack_into(content, place, end + number, len(batch) - 12, 3)
        return FetchedRecords(
            leader_epoch=3, records=memoryview(content), high_watermark=end, start_offset=0
        )

    def produce(partition: Partition) -> None:
        for _ in range(BATCHES):
            append(partition, memoryview(bytearray(small)), acks=1)

    return {
        "follower append, 1 kB batches": Unit(partial(append_fetched, following), BATCHES, fetched),
        "small append, headers": Unit(produce, BATCHES, lambda: plain),
        "small append, full": Unit(produce, BATCHES, lambda: leading),
    }


async def load_units(commits: int) -> dict[str, Unit]:
    """Load of committed offsets, as a coordinator does at its start."""
    partition, _ = new_partition(simulated_world(), 1)
    for first in range(0, commits, COMMITS_A_BATCH):
        pairs = (
            GROUP_RECORDS.encode(
                CoordinatorRecord(
                    OffsetCommitKey(f"group-{first % 1000}", "topic", first + n),
                    OffsetCommitValue(first, metadata=""),
                )
            )
            for n in range(COMMITS_A_BATCH)
        )
        batch = encode_batch(
            [Record(timestamp=NOW_MS, key=key, value=value) for key, value in pairs]
        )
        append_own(partition, memoryview(bytearray(batch)), acks=-1)

    async def read() -> None:
        log = partition.local_log()
        machine = Groups((ClassicGroups,), simple=simple_group)
        loaded = await load(
            lambda: log,
            machine,
            GROUP_RECORDS,
            name="commits",
            buffer=1 << 20,
            elapsed=trio.current_time,
        )
        if loaded.records != commits:
            raise ValueError(f"{loaded.records} records loaded of {commits}")

    return {"load of commits": Unit(lambda _: trio.run(read), commits)}


def measure(units: Mapping[str, Unit], repetitions: int, at_least_s: float) -> dict[str, Figure]:
    """Measure each unit with the twin and the leaf in turn."""
    figures = {}
    for name, unit in units.items():
        calls = max(1, int(at_least_s * 1e6 / max(_cpu_us(unit, 1) * unit.count, 1)))
        pairs = []
        for _ in range(repetitions):
            with twin():
                twin_us = _cpu_us(unit, calls)
            pairs.append((twin_us, _cpu_us(unit, calls)))
        figures[name] = Figure(
            min(pair[0] for pair in pairs),
            min(pair[1] for pair in pairs),
            statistics.median(leaf_us / twin_us for twin_us, leaf_us in pairs),
        )
    return figures


def _cpu_us(unit: Unit, calls: int) -> float:
    """Return the CPU of one thing."""
    gc.collect()
    taken_s = 0.0
    for _ in range(calls):
        argument = unit.argument()
        began = time.process_time()
        unit.call(argument)
        taken_s += time.process_time() - began
    return taken_s / calls / unit.count * 1e6


def missed(figures: Mapping[str, Figure]) -> list[str]:
    """Return what of the bounds is not kept, in words."""
    return [
        f"{name}: {figures[name].ratio:.3f} times the twin, want {bound:g}"
        for name, bound in BOUNDS.items()
        if name in figures and figures[name].ratio > bound
    ]


def table(figures: Mapping[str, Figure]) -> str:
    """One line a unit."""
    lines = [f"{'µs of CPU each':32}{'twin':>10}{'leaf':>10}{'ratio':>8}{'bound':>8}"]
    lines += [
        f"{name:32}{each.twin_us:10.3f}{each.leaf_us:10.3f}{each.ratio:8.3f}"
        + (f"{BOUNDS[name]:8g}" if name in BOUNDS else "")
        for name, each in figures.items()
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str], commits: int = COMMITS) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.bench_leaf",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seconds", type=float, default=0.1, help="of a run (%(default)s)")
    seconds = parser.parse_args(arguments).seconds
    if leaf() is None:
        print("the compiled leaf is not installed: make leaf")
        return 1
    with TemporaryDirectory() as path:

        async def appends() -> dict[str, Figure]:
            return measure(append_units(path), REPETITIONS, seconds)

        figures = measure(record_units(), REPETITIONS, seconds) | trio.run(appends)
    figures |= measure(trio.run(load_units, commits), 3, 0)
    print(table(figures))
    over = missed(figures)
    print(*(f"MISSED {line}" for line in over), sep="\n", end="\n" if over else "")
    return int(bool(over))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
