"""Requests from within: a plugin asks as a client does, through the routes of the data plane.

So interceptors, quotas, metrics, the request log and whatever else looks at requests see them. Each
has a connection of its own, without a socket, on the listener `in-process`, which no client can
have: names of listeners are upper case. It is handed to the handlers like any other: nothing of it
is served in the task that asks, where a broken invariant would end in the wrong hands.

An answer is given when the time is over that its client is throttled for: nobody reads from this
connection any more, so there is no other way to make a client wait (before KIP-219 brokers did so).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from trio_kafka.introspect.request_metrics import RequestMetrics
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.model import Endpoint
from trio_kafka.network.channel import RequestChannel
from trio_kafka.requests.registry import Registry
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.security.principal import NOBODY, Principal

if TYPE_CHECKING:
    from trio_kafka.network.connection import Connection

T = TypeVar("T")
HERE: Final = Endpoint("in-process", 0)


class RefusedError(Exception):
    """A request got no answer: a client's connection would have been closed, for `reason`."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


class Group(Protocol):
    """The handlers that serve the requests."""

    elapsed: Callable[[], float]

    async def run_steps(self, steps: Steps[T]) -> T:
        """What steps give at their end; others run between slices of them."""


class InProcess:
    """Of one broker. times: where what is over is counted; None: nowhere.

    connections: those that are in hand, each with its one request. What asking needs is imported
    with the first who asks: most brokers have nobody.
    """

    def __init__(self, apis: Registry, times: Callable[[], RequestMetrics | None]) -> None:
        self.apis = apis
        self.times = times
        self.connections: dict[int, Connection] = {}
        self.asked = self.throttled = self.most = 0
        self.group: Group | None = None
        self.channel: RequestChannel

    def serve(self, group: Group, channel: RequestChannel, node: Node) -> None:
        """Have requests served by this group, if none serves them yet."""
        if self.group is None:
            self.group, self.channel = group, channel
            node.add("in-process", "part", self._figures)

    async def ask(
        self,
        request: object,
        *,
        principal: Principal = NOBODY,
        client_id: str = "",
        peer: Endpoint = HERE,
        version: int | None = None,
    ) -> Any:
        """The answer; None to a request that gets none (acks=0).

        principal, client_id: as whom it is charged, audited and allowed. peer: for whom it is
            asked, where that is somebody. version: None: the newest that is served.
        Raises KafkaError(UNSUPPORTED_VERSION) for what is not served, RefusedError where a client
        would lose its connection, TypeError and EncodeError for what is no request of the version.
        Who is cancelled has left, as a client that closes its connection.
        """
        from trio_kafka.requests.loopback.exchange import Caller, ask  # noqa: PLC0415 - see above

        if self.group is None:
            raise RuntimeError("nobody serves requests")
        caller = Caller(self.group.elapsed, peer, principal)
        return await ask(self, self.group, caller, request, client_id=client_id, version=version)

    def _figures(self) -> Figures:
        return {
            "in_hand": len(self.connections),
            "high_water": self.most,
            "asked": self.asked,
            "throttled": self.throttled,
        }
