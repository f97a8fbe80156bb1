"""Requests without a network, for tests of what holds them."""

from typing import Any, cast

from trio_kafka.introspect.stamps import Stamps
from trio_kafka.model import code_of
from trio_kafka.network.connection import Connection
from trio_kafka.network.request import Request


def bare_request(number: int = 0, connection: object = None) -> Request:
    """A request whose correlation id is `number`; nobody can answer it."""
    nobody = cast("Connection", connection)
    return Request(memoryview(b""), code_of(18, 0), number, -1, nobody, Stamps(0.0, 0.0))


def numbers(requests: list[Any]) -> list[int]:
    """Their correlation ids."""
    return [request.correlation for request in requests]
