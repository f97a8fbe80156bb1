"""Where new partitions go: replicas striped over racks and brokers, from a random start.

Each partition begins one rack further than the one before, and one broker further in each rack
after a round of racks; so leaders spread evenly, and the replicas of a partition lie on as many
racks as there are. Brokers that are fenced or shutting down come last, and never lead.
Source: the rules of KRaft's striped placement; rack awareness of KIP-36.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from trio_kafka.attributes import frozen
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import NodeId

T = TypeVar("T")
Choose = Callable[[int], int]
"""`choose(n)` is one of the numbers below n, by chance."""


@frozen
class UsableBroker:
    """A broker as placement sees it."""

    id: NodeId
    rack: str | None
    active: bool


def place(
    brokers: Iterable[UsableBroker], partitions: int, factor: int, choose: Choose
) -> list[tuple[NodeId, ...]]:
    """The replicas of each partition, the preferred leader first.

    Raises KafkaError(INVALID_REPLICATION_FACTOR) if there are fewer brokers, or none is active.
    """
    known = sorted(brokers, key=lambda broker: broker.id)
    if factor > len(known):
        found = f"replication factor {factor}, {len(known)} brokers are registered"
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, found)
    if not any(broker.active for broker in known):
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, "all brokers are fenced")
    active = _racks((broker for broker in known if broker.active), choose)
    others = _racks((broker for broker in known if not broker.active), choose)
    if not others:
        return [_stripe(active, number, factor) for number in range(partitions)]
    return [
        (_stripe(active, number, factor) + _stripe(others, number, factor))[:factor]
        for number in range(partitions)
    ]


def _racks(brokers: Iterable[UsableBroker], choose: Choose) -> list[list[NodeId]]:
    """Brokers by rack, both rotated by chance: neighbours stay, so leadership is even."""
    racks: dict[str | None, list[NodeId]] = {}
    for broker in brokers:
        racks.setdefault(broker.rack, []).append(broker.id)
    return [_rotated(rack, choose) for rack in _rotated(list(racks.values()), choose)]


def _rotated(items: list[T], choose: Choose) -> list[T]:
    start = choose(len(items)) if items else 0
    return items[start:] + items[:start]


def _stripe(racks: Sequence[Sequence[NodeId]], number: int, factor: int) -> tuple[NodeId, ...]:
    """Up to `factor` brokers: one of each rack in turn, then the next of each."""
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
