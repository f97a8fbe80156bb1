"""Placement of new partitions: replicas are striped over racks and brokers, from a random start.

Each partition begins one rack after the previous one, and one broker later in each rack after a
round of racks. So leaders are spread evenly, and the replicas of a partition are on as many racks
as possible. Brokers that are fenced or shutting down come last, and never lead.
Source: striped placement of KRaft; rack awareness of KIP-36.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from trio_kafka.attributes import frozen
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import NodeId

T = TypeVar("T")
Choose = Callable[[int], int]
"""`choose(n)` returns a random number below n."""


@frozen(kw_only=True)
class UsableBroker:
    """Broker that can get replicas."""

    id: NodeId
    rack: str | None
    active: bool


def place(
    brokers: Iterable[UsableBroker], partitions: int, *, factor: int, choose: Choose
) -> list[tuple[NodeId, ...]]:
    """Return the replicas of each partition, the preferred leader first.

    Raises KafkaError(INVALID_REPLICATION_FACTOR) for too few brokers, or without an active one.
    """
    by_id = sorted(brokers, key=lambda broker: broker.id)
    if factor > len(by_id):
        reason = (
            f"replication factor {factor}: expected at most {len(by_id)}, the number of brokers"
        )
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, reason)
    if not any(broker.active for broker in by_id):
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, "all brokers are fenced")
    active = _racks((broker for broker in by_id if broker.active), choose)
    others = _racks((broker for broker in by_id if not broker.active), choose)
    if not others:
        return [_stripe(active, number, factor) for number in range(partitions)]
    return [
        (_stripe(active, number, factor) + _stripe(others, number, factor))[:factor]
        for number in range(partitions)
    ]


def _racks(brokers: Iterable[UsableBroker], choose: Choose) -> list[list[NodeId]]:
    """Return brokers by rack, both rotated at random; their order stays, so leaders are even."""
    racks: dict[str | None, list[NodeId]] = {}
    for broker in brokers:
        racks.setdefault(broker.rack, []).append(broker.id)
    return [_rotated(rack, choose) for rack in _rotated(list(racks.values()), choose)]


def _rotated(items: list[T], choose: Choose) -> list[T]:
    start = choose(len(items)) if items else 0
    return items[start:] + items[:start]


def _stripe(racks: Sequence[Sequence[NodeId]], number: int, factor: int) -> tuple[NodeId, ...]:
    """Return up to `factor` brokers: one of each rack in turn, then the next of each."""
    if not racks:
        return ()
    shift, first = divmod(number, len(racks))
    chosen: list[NodeId] = []
    depth, deepest = 0, max(map(len, racks))
    while len(chosen) < factor and depth < deepest:
        for turn in range(len(racks)):
            rack = racks[(first + turn) % len(racks)]
            if depth < len(rack):
                chosen.append(rack[(shift + depth) % len(rack)])
        depth += 1
    return tuple(chosen[:factor])
