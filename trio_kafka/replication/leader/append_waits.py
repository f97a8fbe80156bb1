"""Waits of an append as data: its turn, a sync of its directory, followers.

The chain is partition, then directory: the sync that is under way there is what the partition waits
for.
"""

from typing import Final

from trio_kafka.introspect.waits import Subject, Wait, seconds
from trio_kafka.log.append import Appended
from trio_kafka.log.log import Log
from trio_kafka.replication.append_queue import Queued
from trio_kafka.replication.isr import ACKS_ALL
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.roles import Leading

_LATE: Final = "it is answered with REQUEST_TIMED_OUT, though its records are in the log"


def append_waits(
    partition: Partition, result: Appended | Queued, acks: int, now: float
) -> tuple[Wait, ...]:
    """Return what an append waits for; empty if nothing is missing any more.

    now: `trio.current_time()`.
    """
    if isinstance(result, Queued):
        if not isinstance(result.result, Appended):
            return _turn_waits(partition, result, now)
        result = result.result
    log, end = partition.log, result.last_offset + 1
    if log is None:
        return ()
    if log.durable_end < end:
        return _sync_waits(partition, log, end, now)
    return _follower_waits(partition, end) if acks == ACKS_ALL else ()


def directory_waits(log: Log, now: float) -> tuple[Wait, ...]:
    """Return the wait of a log for its directory."""
    path = log.directory.path.rpartition("/")[0]
    return log.latency.syncs.waits(now, path, log.partition)


def _sync_waits(partition: Partition, log: Log, end: int, now: float) -> tuple[Wait, ...]:
    name = str(partition.at)
    own = Wait(
        cause="sync",
        words=f"a sync of {name} up to offset {end:,}",
        on=Subject("partition", name),
        needs=end,
        has=log.durable_end,
        unit="offset",
        then=_LATE,
    )
    return (own, *directory_waits(log, now))


def _turn_waits(partition: Partition, item: Queued, now: float) -> tuple[Wait, ...]:
    """Return the wait of a queued append: for its turn, behind slow appends or long work."""
    name, log = str(partition.at), partition.log
    age_s = now - item.since
    on = Subject("partition", name)
    if item.work is not None:
        words = f"its {item.size:,} bytes for {name} to be checked or compressed again"
        return (Wait(cause="steps", words=words, on=on, age_s=age_s, then=_LATE),)
    change = None if log is None else log.writer.blocked_by or log.writer.change
    amid = f", amid the change {change}" if change else ""
    words = f"its turn to append {item.size:,} bytes to {name}{amid}"
    own = Wait(cause="sync", words=words, on=on, age_s=age_s, then=_LATE)
    if log is None or not log.latency.slow:
        return (own,)
    longest = seconds(log.latency.longest_s)
    (directory,) = directory_waits(log, now)
    slow = f"{directory.on.name} is slow: its longest append took {longest}"
    return (own, Wait(cause="sync", words=slow, on=directory.on, age_s=directory.age_s))


def _follower_waits(partition: Partition, end: int) -> tuple[Wait, ...]:
    """Return the wait for the followers in sync that have not fetched up to `end`."""
    role, name = partition.role, str(partition.at)
    if not isinstance(role, Leading):
        return ()
    ends = {
        node: role.follower_ends.get(node, -1) for node in partition.isr if node != partition.node
    }
    late = [node for node, offset in ends.items() if offset < end]
    if not late:
        return ()
    nodes = ", ".join(map(str, late))
    own = Wait(
        cause="change",
        words=f"{len(ends) - len(late)} of {len(ends)} followers of {name} have offset {end:,}",
        on=Subject("partition", name),
        needs=len(ends),
        has=len(ends) - len(late),
        unit="followers",
        then=_LATE,
    )
    slowest = min(late, key=ends.__getitem__)
    follower = Wait(
        cause="change",
        words=f"broker {nodes} to fetch up to offset {end:,} of {name}",
        on=Subject("broker", str(slowest)),
        needs=end,
        has=max(ends[slowest], 0),
        unit="offset",
    )
    return (own, follower)
