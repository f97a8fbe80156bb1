"""Arithmetic of the in-sync set: the committed offset, and the minimum of replicas. Pure.

Source: KIP-497 (the leader's view of the set), KIP-966 (nothing is committed below the minimum).
"""

from collections.abc import Iterable
from typing import Final

from trio_kafka.errors import ErrorCode, KafkaError

NO_ACKS: Final = 0
ACKS_ALL: Final = -1
ACKS: Final = (NO_ACKS, 1, ACKS_ALL)


def effective_minimum(min_insync_replicas: int, replicas: int) -> int:
    """Return min.insync.replicas, at most the number of replicas."""
    return min(min_insync_replicas, max(replicas, 1))


def check_enough(in_sync: int, minimum: int) -> None:
    """Raise KafkaError(NOT_ENOUGH_REPLICAS) if an append with acks=all would not be safe."""
    if in_sync < minimum:
        raise KafkaError(
            ErrorCode.NOT_ENOUGH_REPLICAS, f"{in_sync} replicas in sync, want {minimum}"
        )


def committed_end(
    high_watermark: int, leader_end: int, follower_ends: Iterable[int], *, enough: bool
) -> int:
    """Return the high watermark: the smallest end of all in-sync replicas. It never falls.

    follower_ends: end offsets of the other in-sync replicas, -1 if unknown.
    enough: whether the set has its minimum size; if not, nothing more is committed.
    """
    if not enough:
        return high_watermark
    smallest = leader_end
    for end in follower_ends:
        smallest = min(smallest, end)
    return max(high_watermark, smallest)
