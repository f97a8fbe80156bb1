"""Arithmetic of the in-sync set: what is committed, and whether enough replicas hold it. Pure.

Source: KIP-497 (the leader's view of the set), KIP-966 (nothing is committed below the minimum).
"""

from collections.abc import Iterable

from trio_kafka.errors import ErrorCode, KafkaError


def effective_minimum(min_insync_replicas: int, replicas: int) -> int:
    """min.insync.replicas, but never more than there are replicas."""
    return min(min_insync_replicas, max(replicas, 1))


def check_enough(in_sync: int, minimum: int) -> None:
    """Raises KafkaError(NOT_ENOUGH_REPLICAS): an append with acks=all would not be safe."""
    if in_sync < minimum:
        raise KafkaError(
            ErrorCode.NOT_ENOUGH_REPLICAS, f"{in_sync} replicas in sync, want {minimum}"
        )


def committed_end(
    high_watermark: int, leader_end: int, follower_ends: Iterable[int], *, enough: bool
) -> int:
    """The high watermark: the smallest end of all in-sync replicas, never below what it was.

    follower_ends: end offsets of the other in-sync replicas, -1 where one is not known yet.
    enough: whether the set has its minimum size; if not, nothing more is committed.
    """
    if not enough:
        return high_watermark
    smallest = leader_end
    for end in follower_ends:
        smallest = min(smallest, end)
    return max(high_watermark, smallest)
