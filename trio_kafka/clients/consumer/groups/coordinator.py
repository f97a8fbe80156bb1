"""Link to the coordinator of a group: found on demand, and again when it has moved."""

from typing import TypeVar

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.client import Client
from trio_kafka.clients.errors import (
    ClientError,
    Place,
    RetriableError,
    TimedOutError,
    client_error,
    error_of,
)
from trio_kafka.clients.metadata.refresh import coordinator_node
from trio_kafka.errors import ErrorCode
from trio_kafka.peers.session import Request
from trio_kafka.protocol.messages.k10_find_coordinator import FindCoordinatorRequest

A = TypeVar("A")
_GROUP = 0  # type of the key
_BY_KEY = 3  # the newest version with one key
MOVED = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE})


@define(eq=False, kw_only=True)
class Coordinator:
    """Coordinator of one group. node: None: not known."""

    client: Client
    group: str
    node: int | None = field(default=None, init=False)

    async def ask(
        self,
        request: Request[A],
        *,
        timeout_s: float,
        at_most: int | None = None,
        overtakes: bool = False,
    ) -> A:
        """Send a request to the coordinator; find it first if it is not known.

        overtakes: use the connection of Fetch, as one that waits for a group is served in turn.
        Raises ClientError; after RetriableError the coordinator is looked for again.
        """
        deadline = trio.current_time() + timeout_s
        node = self.node
        if node is None:
            node = await self.find(deadline=deadline)
        link = self.client.links[node if overtakes else coordinator_node(node)]
        try:
            timeout_s = max(deadline - trio.current_time(), 0.0)
            return await link.ask(request, timeout_s=timeout_s, at_most=at_most)
        except RetriableError:
            self.moved()
            raise

    def moved(self) -> None:
        """Note that the broker is not the coordinator any more, or cannot be reached."""
        self.node = None

    def check(self, code: ErrorCode) -> None:
        """Note an error of a response that says that the coordinator has moved."""
        if code in MOVED:
            self.moved()

    async def find(self, *, deadline: float) -> int:
        """Ask brokers for the coordinator until one is named; return its node id.

        Raises TimedOutError, ClientError.
        """
        failure: ClientError | None = None
        attempt = 0
        while trio.current_time() < deadline:
            try:
                node = self.node = await self._ask_broker(deadline)
            except RetriableError as error:
                failure = error
            else:
                return node
            attempt += 1
            chance = self.client.world.random.random()
            pause_s = self.client.settings.retry_backoff.pause_s(attempt, chance)
            await trio.sleep_until(min(trio.current_time() + pause_s, deadline))
        reason = "" if failure is None else f"; the last failure: {failure}"
        raise TimedOutError(f"no coordinator of group {self.group!r} in time{reason}")

    async def _ask_broker(self, deadline: float) -> int:
        metadata, now = self.client.metadata, trio.current_time()
        brokers = list(metadata.cache.brokers) or metadata.bootstrap_nodes()
        node = self.client.links.least_loaded(brokers, now)
        if node is None:
            raise RetriableError("each broker is in its back-off")
        timeout_s = min(max(deadline - now, 0.0), self.client.settings.request_timeout_s)
        request = FindCoordinatorRequest(key=self.group, key_type=_GROUP)
        answer = await self.client.links[node].ask(request, timeout_s=timeout_s, at_most=_BY_KEY)
        code = error_of(answer.error_code)
        if code:
            raise client_error(code, answer.error_message, place=Place(broker=f"broker {node}"))
        if answer.node_id not in metadata.cache.brokers:
            metadata.take_broker(answer.node_id, answer.host, answer.port)
        return answer.node_id
