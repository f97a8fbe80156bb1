"""Waits of a pending reply as data: its turn, a slice, a commit, or what the machine keeps it for.

Each is found by a bounded look, as thousands of replies may wait in one shard.
"""

from collections.abc import Iterable, Sized
from itertools import islice
from typing import Final, Protocol

from trio_kafka.coordinators.shards.commit_queue import CommitQueue
from trio_kafka.coordinators.shards.effects import Effects
from trio_kafka.coordinators.shards.pending_reply import PendingReply
from trio_kafka.coordinators.shards.protocols import ShardLog
from trio_kafka.introspect.waits import Subject, Wait

_LOOKED_AT: Final = 256  # events among which a reply is searched
_LATE: Final = "it is answered with COORDINATOR_NOT_AVAILABLE"


class Turns(Sized, Iterable[tuple[object, PendingReply]], Protocol):
    """Events of a shard that wait for their turn."""


def turn_wait(name: str, turns: Turns, reply: PendingReply) -> tuple[Wait, ...]:
    """Return the wait of a reply whose event is queued; empty if it is not. name: of the shard."""
    is_queued = any(queued is reply for _, queued in islice(turns, _LOOKED_AT))
    if not is_queued and len(turns) <= _LOOKED_AT:
        return ()
    words = f"its turn in {name}, where {len(turns):,} events wait"
    return (Wait(cause="change", words=words, on=Subject("shard", name), then=_LATE),)


def open_batch_wait(name: str, effects: Iterable[Effects], reply: PendingReply) -> tuple[Wait, ...]:
    """Return the wait of a reply in the open batch, which further events may join; empty if it is
    not there.
    """
    for event in islice(effects, _LOOKED_AT):
        if any(ticket is reply for ticket, _ in event.answers):
            words = f"further records for the open batch of {name}"
            return (Wait(cause="time", words=words, on=Subject("shard", name), then=_LATE),)
    return ()


def commit_waits(name: str, commits: CommitQueue, log: ShardLog, now: float) -> tuple[Wait, ...]:
    """Return the wait for the oldest records that are not committed; empty if there are none."""
    if not commits.waiting:
        return ()
    words = f"a commit of records in {name}, {len(commits.waiting):,} in line"
    own = Wait(cause="change", words=words, on=Subject("shard", name), then=_LATE)
    return (own, *log.waits(commits.waiting[0][0], now))


def slice_wait(name: str) -> tuple[Wait, ...]:
    """Return the wait of a reply whose event is computed in slices."""
    words = f"its next slice of the loop in {name}"
    return (Wait(cause="steps", words=words, on=Subject("shard", name), then=_LATE),)
