"""Fetch requests by broker, within the memory of the consumer. Does no I/O.

Theory of operation. Each broker has a session with the rows to fetch (`fetch_rows`), and at most
one request in flight. All brokers share `fetch.max.bytes`: a request asks for half of a broker's
share, so that the next one can be in flight while the first one is read.
"""

from collections.abc import Callable, Mapping

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.clients.consumer.fetch_rows import FetchRows, NodeFetch
from trio_kafka.clients.consumer.partition_state import PartitionState
from trio_kafka.clients.consumer.session import FetchRow
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k01_fetch import FetchRequest


@frozen(kw_only=True)
class FetchAttempt:
    """A request to one broker, and the rows of its session when it was sent."""

    node: int
    target: "NodeFetch"
    request: FetchRequest
    at_most: int | None
    rows: Mapping[TopicPartition, FetchRow]


@define(eq=False)
class FetchRequests:
    """Plans of the next Fetch to each broker. is_short: of memory."""

    rows: FetchRows
    is_short: bool = field(default=False, init=False)

    def due(self, now: float) -> list[FetchAttempt]:
        """Return the requests to send now."""
        self.rows.update(now)
        attempts = []
        self.is_short = False
        share = self._share()
        for number, node in self.rows.nodes.items():
            if node.reserved is not None or not node.session.rows or node.not_before > now:
                continue
            if not self._fits(share):
                self.is_short = True
                break
            node.reserved = share
            attempts.append(self._attempt(number, node, share))
        return attempts

    def next_time(self) -> float:
        """Return the time at which `due` may return more without an answer; infinite: none."""
        times = [self.rows.next_time()]
        if not self.is_short:
            times += [
                node.not_before
                for node in self.rows.nodes.values()
                if node.reserved is None and node.session.rows
            ]
        return min(times)

    def relieve(self, is_awaited: Callable[[PartitionState], bool]) -> None:
        """Drop buffers that no reader awaits, if they take the room of awaited partitions."""
        if self.is_short:
            for state in self.rows.positions.states.values():
                if state.buffer and not is_awaited(state):
                    self.rows.positions.shed(state)

    def _share(self) -> int:
        active = sum(bool(node.session.rows) for node in self.rows.nodes.values())
        return max(self.rows.limits.max_bytes // max(2 * active, 1), 1)

    def _fits(self, share: int) -> bool:
        reserved = sum(node.reserved or 0 for node in self.rows.nodes.values())
        total = self.rows.positions.buffered + reserved
        return total + share <= self.rows.limits.max_bytes or not total

    def _attempt(self, number: int, node: NodeFetch, share: int) -> FetchAttempt:
        limits = self.rows.limits
        template = FetchRequest(
            max_wait_ms=limits.max_wait_ms,
            min_bytes=limits.min_bytes,
            max_bytes=share,
            isolation_level=limits.isolation,
            rack_id=limits.rack,
        )
        request, at_most = node.session.request(template)
        rows = dict(node.session.rows)
        return FetchAttempt(node=number, target=node, request=request, at_most=at_most, rows=rows)
