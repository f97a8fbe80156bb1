"""A Fetch without a session whose bytes are there: read and answered, with nothing made that waits.

Clients without sessions name all partitions each time, and while they catch up each poll is of this
kind. Whatever is not (nothing new to give, cold indexes, followers, quotas) is a `Fetch`.
"""

from collections.abc import Callable, Mapping
from typing import Final

from trio_kafka.errors import KafkaError
from trio_kafka.replication.fetch import WIDE_BESIDE, FetchLimits, Reads
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.read import Wanted, read, visible_end
from trio_kafka.replication.sessions import FetchKey

FEW: Final = 100  # partitions: half a millisecond


def read_at_once(
    wanted: Mapping[FetchKey, Wanted],
    limits: FetchLimits,
    resolve: Callable[[FetchKey], Partition],
    between: Callable[[], None] | None = None,
) -> Reads | None:
    """What a consumer without a session is given now; None: it is not that simple.

    between: lets others in; called now and then where there are many partitions.
    """
    if limits.follower is not None or limits.admit is not None or len(wanted) > FEW:
        return None
    isolation = limits.isolation
    found: list[tuple[FetchKey, Wanted, Partition]] = []
    some = False
    for key, ask in wanted.items():
        try:
            partition = resolve(key)
        except KafkaError:
            return None
        log = partition.leading
        if log is None:
            return None
        if not some:
            some = ask.offset < visible_end(log, isolation)
        found.append((key, ask, partition))
    return _read(found, limits, between if len(found) > WIDE_BESIDE else None) if some else None


def _read(
    found: list[tuple[FetchKey, Wanted, Partition]],
    limits: FetchLimits,
    between: Callable[[], None] | None,
) -> Reads | None:
    reads: Reads = []
    enough = False
    try:
        enough = _fill(reads, found, limits, between)
    except (KafkaError, BlockingIOError):
        pass  # the long way says what it is
    finally:
        if not enough:
            for _, part in reads:
                part.release()
    if not enough:
        return None
    for (_, _, partition), (_, part) in zip(found, reads, strict=True):
        traffic = partition.traffic
        traffic.fetches += 1
        if part.range is not None:
            traffic.bytes_out += part.range.left
    return reads


def _fill(
    reads: Reads,
    found: list[tuple[FetchKey, Wanted, Partition]],
    limits: FetchLimits,
    between: Callable[[], None] | None,
) -> bool:
    """Read all; whether that is an answer."""
    left, size, isolation = limits.max_bytes, 0, limits.isolation
    for number, (key, ask, partition) in enumerate(found):
        if between is not None and not number % WIDE_BESIDE:
            between()
        part = read(partition, ask, min(ask.max_bytes, left), isolation, not size)
        reads.append((key, part))
        if part.range is not None:
            size += part.range.left
            left = max(left - part.range.left, 0)
        elif part.diverging is not None:
            return False
    return size >= limits.min_bytes
