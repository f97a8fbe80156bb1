"""Settings of one run, which its seed decides."""

from random import Random
from typing import Final

from attrs import frozen

from trio_kafka.testing.simulate.schedule import KINDS, Fault, draw_schedule

CLOSE_S: Final = 5.0
DELIVERY_S: Final = 8.0
BLOCK_S: Final = 4.0
WITHIN_S: Final = 3.0


@frozen(kw_only=True)
class Plan:
    """protocol: of the group. way: in which its members read. commits_by_itself: automatic commits.

    writers, members: tasks. transactional: some writers use transactions, and a copier runs.
    """

    protocol: str
    commits_by_itself: bool
    is_static: bool
    writers: int
    members: int
    transactional: bool
    faults: list[Fault]


def draw_plan(chance: Random) -> Plan:
    """Return the plan of a seed."""
    faults = draw_schedule(chance, KINDS, within_s=WITHIN_S, most=3)
    if chance.random() < 0.4:
        faults.append((0.0, "slow_disk", 0.3, WITHIN_S))
    if chance.random() < 0.4:
        at_s, after = chance.uniform(0.0, 2.0), chance.randrange(20)
        faults.append((at_s, "lose_power_at", "sync", "*/orders-*", after, 0.3, 0.3))
    if chance.random() < 0.3:
        faults.append((chance.uniform(0.0, 4.0), "kill", chance.uniform(0.1, 2.0)))
    return Plan(
        protocol=chance.choice(("classic", "consumer")),
        commits_by_itself=chance.random() < 0.5,
        is_static=chance.random() < 0.3,
        writers=chance.randint(1, 2),
        members=chance.randint(1, 2),
        transactional=chance.random() < 0.4,
        faults=sorted(faults),
    )


def producer_options(chance: Random) -> dict[str, object]:
    """Return settings of a producer, with short time-outs."""
    return {
        "linger_ms": chance.choice((0, 5, 200)),
        "batch_size": chance.choice((200, 1000, 16_384)),
        "buffer_memory": chance.choice((2000, 33_554_432)),
        "max_in_flight_requests_per_connection": chance.choice((1, 2, 5)),
        "enable_idempotence": chance.random() < 0.8,
        "acks": "all",
        "request_timeout_ms": chance.choice((500, 1500)),
        "delivery_timeout_ms": round(DELIVERY_S * 1000),
        "max_block_ms": round(BLOCK_S * 1000),
    }
