"""Calls of a user's listener in a rebalance."""

from collections.abc import Awaitable, Callable, Collection
from typing import TypeAlias

from trio_kafka.attributes import frozen
from trio_kafka.model import TopicPartition

Hook: TypeAlias = Callable[[Collection[TopicPartition]], Awaitable[None]]


async def ignore(partitions: Collection[TopicPartition]) -> None:
    """Do nothing: the hook of a user who has none."""


@frozen(kw_only=True)
class RebalanceListener:
    """Hooks of a subscription, awaited between two reads, in the task that reads.

    on_revoked: before partitions go to other members; the offsets can still be committed. It is
    cancelled when the group gives the partitions away, after `max.poll.interval.ms`.
    on_assigned: after partitions were assigned, before they are read; it may seek.
    on_lost: after other members may have got them; offsets cannot be committed any more.
    A read that is cancelled during a hook calls the hook again in the next read.
    """

    on_revoked: Hook = ignore
    on_assigned: Hook = ignore
    on_lost: Hook = ignore


NO_LISTENER = RebalanceListener()
