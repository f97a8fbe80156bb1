"""Requests from within the broker: a plugin, or this node, asks the routes of the data plane.

Listener names of clients are upper case, so no client can have the listener `in-process`.
"""

from trio_kafka.requests.loopback.client import InProcessClient
from trio_kafka.requests.loopback.exchange import (
    IN_PROCESS,
    LISTENER,
    Exchange,
    RefusedError,
    RequestHandlers,
)
from trio_kafka.requests.loopback.link import LoopbackLink

__all__ = [
    "IN_PROCESS",
    "LISTENER",
    "Exchange",
    "InProcessClient",
    "LoopbackLink",
    "RefusedError",
    "RequestHandlers",
]
