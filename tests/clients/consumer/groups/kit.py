"""Helpers of the tests of groups."""

from collections.abc import Collection
from typing import Any

import trio

from trio_kafka.clients import Consumer, RebalanceListener
from trio_kafka.model import TopicPartition
from trio_kafka.testing.simulate.simulation import Simulation

Bytes = bytes | None


async def wait_assigned(consumer: Consumer[Bytes, Bytes], count: int) -> None:
    """Poll until the consumer has so many partitions; there must be nothing to read."""
    with trio.fail_after(60):
        while len(consumer.assignment) != count:
            await consumer.poll(0.1)


def noted(name: str, log: list[tuple[str, str, list[TopicPartition]]]) -> RebalanceListener:
    """A listener that writes down what it hears."""

    async def revoked(partitions: Collection[TopicPartition]) -> None:
        log.append((name, "revoked", list(partitions)))

    async def assigned(partitions: Collection[TopicPartition]) -> None:
        log.append((name, "assigned", list(partitions)))

    return RebalanceListener(on_revoked=revoked, on_assigned=assigned)


async def wait_shared(
    first: Consumer[Bytes, Bytes], second: Consumer[Bytes, Bytes], partitions: int = 2
) -> None:
    """Poll two members in turn until each has some of so many partitions."""
    with trio.fail_after(60):
        while not (
            first.assignment
            and second.assignment
            and len(first.assignment) + len(second.assignment) == partitions
        ):
            await first.poll(0.1)
            await second.poll(0.1)


def observed(sim: Simulation, api: str) -> list[Any]:
    """Return the list of the requests of an API from now on."""
    requests: list[Any] = []

    def note(request: object, context: object) -> bool:
        requests.append(request)
        return True

    sim.kafka.fault(api=api, observe=True, where=note)
    return requests
