"""Subscription to topics, by names or by a pattern, whose partitions the group assigns."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from trio_kafka.clients.client import Client
from trio_kafka.clients.consumer.groups.listener import RebalanceListener
from trio_kafka.clients.settings.consumer import ConsumerSettings

if TYPE_CHECKING:  # as of ReadTurns
    from trio_kafka.clients.consumer.groups.group import ConsumerGroup


def subscribe(
    client: Client,
    settings: ConsumerSettings,
    group: "ConsumerGroup | None",
    *,
    topics: Iterable[str],
    pattern: str | None,
    listener: RebalanceListener,
) -> None:
    """Subscribe a group to topics, and ask for their metadata. See `Consumer.subscribe`.

    Raises ValueError: without a group, after `assign`, for an invalid pattern, and for both names
    and a pattern.
    """
    names = tuple(sorted(set(topics)))
    if (not names) == (pattern is None):
        raise ValueError("want topics or a pattern")
    if group is None:
        raise ValueError("no group.id: set it, or assign partitions")
    if group.positions.states and not group.is_subscribed:
        raise ValueError("partitions were assigned by assign")
    if pattern is not None:
        if not settings.uses_consumer_protocol:
            _check(pattern)
        client.metadata.cache.all_topics = True
        client.metadata.request_refresh()
    client.metadata.follow("subscription", names)
    group.rebalance.listener = listener
    group.membership.subscribe(names if pattern is None else None, pattern)
    group.subscribed()


def _check(pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"the pattern {pattern!r} is invalid: {error}") from error
