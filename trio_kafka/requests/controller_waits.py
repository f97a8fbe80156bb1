"""Waits of the controller as data: for a sync of the metadata log."""

from trio_kafka.introspect.waits import Subject, Wait
from trio_kafka.log.log import Log
from trio_kafka.replication.leader.append_waits import directory_waits
from trio_kafka.requests.parts import Missing, Parts


def controller_waits(parts: Parts, now: float) -> tuple[Wait, ...]:
    """Return what the controller waits for; empty if all its records are synced.

    now: `trio.current_time()`.
    """
    raft = parts.raft
    if isinstance(raft, Missing) or raft.durable_offset >= raft.next_offset:
        return ()
    log: Log = raft.store.log
    name = str(log.partition)
    own = Wait(
        cause="sync",
        words=f"a sync of {name} up to offset {log.end_offset:,}",
        on=Subject("partition", name),
        needs=log.end_offset,
        has=log.recovery_point,
        unit="offset",
    )
    return (own, *directory_waits(log, now))
