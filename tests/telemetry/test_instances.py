"""Clients that push: bounds of what is kept of them."""

import pytest

from trio_kafka.telemetry import instances as module
from trio_kafka.telemetry.instances import MOST_SERIES, ClientInstance, ClientInstances
from trio_kafka.telemetry.metric import Point
from trio_kafka.telemetry.otlp import Push
from trio_kafka.telemetry.subscriptions import ClientSubscription


def instance(number: int, interval_ms: int = 1000) -> ClientInstance:
    subscription = ClientSubscription(id=1, interval_ms=interval_ms)
    return ClientInstance(number.to_bytes(16, "big"), {}, subscription, 0, 0.0)


def push(*points: Point) -> Push:
    return Push(resource={"group_id": "g"}, points=points)


def point(name: str, value: float, *, is_delta: bool = False) -> Point:
    return Point(
        name=name, value=value, attributes={}, time_s=1.0, is_sum=is_delta, is_delta=is_delta
    )


def test_deltas_are_summed_up_and_gauges_replaced() -> None:
    clients, client = ClientInstances(), instance(1)
    clients.add(client)
    clients.keep(client, push(point("total", 3, is_delta=True), point("age", 7)))
    clients.keep(client, push(point("total", 4, is_delta=True), point("age", 5)))

    assert {name: kept.value for (name, _), kept in client.values.items()} == {"total": 7, "age": 5}
    assert (client.pushes, clients.kept, client.resource) == (2, 2, {"group_id": "g"})


def test_series_above_the_bound_of_a_client_are_counted() -> None:
    clients, client = ClientInstances(), instance(1)
    clients.add(client)
    clients.keep(client, push(*(point(str(number), 1) for number in range(MOST_SERIES + 3))))

    assert (len(client.values), client.skipped, clients.kept) == (MOST_SERIES, 3, MOST_SERIES)


def test_series_of_all_clients_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_IN_ALL", 3)
    clients, first, second = ClientInstances(), instance(1), instance(2)
    for client in (first, second):
        clients.add(client)
        clients.keep(client, push(point("a", 1), point("b", 1)))

    assert (len(first.values), len(second.values), second.skipped) == (2, 1, 1)


def test_silent_clients_are_forgotten_with_their_series() -> None:
    clients, first, second = ClientInstances(), instance(1), instance(2, interval_ms=60_000)
    for client in (first, second):
        clients.add(client)
        clients.keep(client, push(point("a", 1)))
    clients.expire(60.0)
    assert len(clients) == 2

    clients.expire(61.0)
    assert [client.id for client in clients] == [second.id]
    assert clients.kept == 1
    clients.expire(181.0)
    assert (len(clients), clients.kept) == (0, 0)


def test_client_that_was_silent_longest_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_INSTANCES", 2)
    clients = ClientInstances()
    first, second, third = (instance(number) for number in (1, 2, 3))
    clients.add(first)
    clients.add(second)
    clients.touch(first, 1.0)
    clients.add(third)

    assert {client.id for client in clients} == {first.id, third.id}
    assert clients.evicted == 1
