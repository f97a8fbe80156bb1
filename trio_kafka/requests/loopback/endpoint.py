"""Endpoint of requests from within the broker, and their outcome without a response.

Listener names of clients are upper case, so no client can have the listener `in-process`.
"""

from collections.abc import Callable
from typing import Final, Protocol, TypeVar

from trio_kafka.model import Endpoint
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.scheduling.chunked_work import Steps

T = TypeVar("T")
IN_PROCESS: Final = Endpoint("in-process", 0)
LISTENER: Final = ListenerSettings(name="in-process", security_protocol="INTERNAL")


class RefusedError(Exception):
    """Request without a response: a client's connection would have been closed, for `reason`."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


class RequestHandlers(Protocol):
    """Handler group that serves the requests."""

    elapsed: Callable[[], float]

    async def run_steps(self, steps: Steps[T]) -> T:
        """Run steps in slices and return their result."""
