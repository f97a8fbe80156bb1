"""Readings of topics, with rates since earlier looks."""

import trio

from trio_kafka.introspect.facts.topics import TopicDetails
from trio_kafka.plugin_host.topic_access import (
    TopicPage,
    read_topic_as,
    read_topic_page_as,
    read_traffic_as,
)
from trio_kafka.requests.parts import Parts
from trio_kafka.security.principal import Principal
from trio_kafka_admin.rate_history import RateHistory

_A_STEP = 128  # topics between two checkpoints
TrafficRates = tuple[float, ...] | None
"""Bytes in, records in and bytes out per second; None before the second look."""


async def read_topic_page(
    parts: Parts,
    principal: Principal,
    rates: RateHistory,
    *,
    of: str,
    first: int,
    most: int,
) -> TopicPage:
    """Read some topics: see `topic_access.read_topic_page_as`."""
    by_name = await _rates_by_name(parts, principal, rates)
    return await read_topic_page_as(
        principal,
        parts,
        of=of,
        first=first,
        most=most,
        rate_of=lambda name: _total(by_name.get(name)),
    )


async def read_topic(
    parts: Parts, principal: Principal, name: str, *, most: int
) -> TopicDetails | None:
    """Read one topic: see `topic_access.read_topic_as`."""
    return await read_topic_as(principal, parts, name, most=most)


async def _rates_by_name(
    parts: Parts, principal: Principal, rates: RateHistory
) -> dict[str, TrafficRates]:
    by_name = dict[str, TrafficRates]()
    counters = await read_traffic_as(principal, parts)
    for number, (name, counts) in enumerate(counters.items(), 1):
        by_name[name] = rates.note(("topic", name), counts)
        if not number % _A_STEP:
            await trio.lowlevel.checkpoint()
    return by_name


def _total(rates: TrafficRates) -> float:
    """Return the bytes in and out per second."""
    return 0.0 if rates is None else rates[0] + rates[2]
