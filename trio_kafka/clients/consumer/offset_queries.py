"""Questions about offsets of partitions, whether they are assigned or not."""

from collections.abc import Mapping

import trio

from trio_kafka.clients.client import Client
from trio_kafka.clients.consumer.offset_messages import list_offsets_request
from trio_kafka.clients.consumer.values import OffsetAndTimestamp
from trio_kafka.clients.errors import (
    ClientError,
    Place,
    RetriableError,
    TimedOutError,
    client_error,
    error_of,
)
from trio_kafka.model import TopicPartition

Offsets = dict[TopicPartition, OffsetAndTimestamp | None]


async def list_offsets(
    client: Client, timestamps: Mapping[TopicPartition, int], *, isolation: int, timeout_s: float
) -> Offsets:
    """Return the first offset at or after a timestamp for each partition; None: there is none.

    timestamps: ms, or EARLIEST or LATEST. Raises TimedOutError, TopicError, AuthorizationError.
    """
    deadline, attempt = trio.current_time() + timeout_s, 0
    offsets: Offsets = {}
    await trio.lowlevel.checkpoint()
    for topic in dict.fromkeys(at.topic for at in timestamps):
        await client.metadata.wait_topic(topic, timeout_s=timeout_s)
    while pending := {at: time for at, time in timestamps.items() if at not in offsets}:
        try:
            await _ask(client, pending, offsets, (isolation, deadline))
        except RetriableError as error:
            client.metadata.request_refresh()
            attempt += 1
            chance = client.world.random.random()
            pause_s = client.settings.retry_backoff.pause_s(attempt, chance)
            if trio.current_time() + pause_s >= deadline:
                reason = f"no offsets within {timeout_s:g} s; the last failure: {error}"
                raise TimedOutError(reason, place=error.place) from error
            await trio.sleep(pause_s)
    return offsets


def offsets_at(offsets: Offsets) -> dict[TopicPartition, int]:
    """Return the bare offsets, of partitions that have one."""
    return {at: offset.offset for at, offset in offsets.items() if offset is not None}


async def _ask(
    client: Client,
    pending: Mapping[TopicPartition, int],
    offsets: Offsets,
    terms: tuple[int, float],
) -> None:
    """Ask each leader; raise the last failure. terms: isolation level, deadline."""
    isolation, deadline = terms
    failure: ClientError | None = None
    by_node: dict[int, list[tuple[TopicPartition, int, int]]] = {}
    for at, timestamp in pending.items():
        leader = client.metadata.cache.leader(at.topic, at.partition)
        if leader is None:
            failure = RetriableError("no leader", place=_place(at))
            continue
        by_node.setdefault(leader.node, []).append((at, timestamp, leader.epoch))
    for node, rows in by_node.items():
        remaining_s = max(deadline - trio.current_time(), 0.0)
        timeout_s = min(remaining_s, client.settings.request_timeout_s)
        request = list_offsets_request(rows, isolation)
        response = await client.links[node].ask(request, timeout_s=timeout_s)
        for topic in response.topics:
            for row in topic.partitions:
                at = TopicPartition(topic.name, row.partition_index)
                if row.error_code:
                    failure = client_error(error_of(row.error_code), place=_place(at))
                elif row.offset < 0:
                    offsets[at] = None
                else:
                    offsets[at] = OffsetAndTimestamp(row.offset, row.timestamp, row.leader_epoch)
    if failure is not None:
        raise failure


def _place(at: TopicPartition) -> Place:
    return Place(topic=at.topic, partition=at.partition)
