"""Broker state for pages.

The tree is read in process, with the permission and the bounds of DescribeTree. Requests and
plugins are listed by in-process requests like those of any client, which appear in metrics, in the
request log and in the list of requests. A page therefore sees what the command line sees.
"""

from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

import trio

from trio_kafka.errors import KafkaError
from trio_kafka.introspect.snapshots import QUEUES, WORKING, TreeSnapshot
from trio_kafka.introspect.tree_reader import TreeReading
from trio_kafka.peers.session import Request
from trio_kafka.plugin import ErrorCode, PluginContext
from trio_kafka.plugin_host.tree_access import read_tree_as
from trio_kafka.protocol.messages.k10002_list_plugins import (
    ListPluginsRequest,
    ListPluginsResponse,
)
from trio_kafka.protocol.messages.k10010_describe_requests import (
    IN_FLIGHT,
    DescribeRequestsRequest,
    DescribeRequestsResponse,
)
from trio_kafka.security.principal import NOBODY, Principal
from trio_kafka_admin.derived_nodes import group_lags, long_waits, watched_keys
from trio_kafka_admin.settings import AdminSettings
from trio_kafka_admin.tree_snapshots import TreeSnapshots

CLIENT_ID: Final = "admin-ui"
Answer = TypeVar("Answer", bound="Response")
_MOST_WAITS: Final = 1000  # requests in flight that the overview reads


class Response(Protocol):
    """A response with an error of the whole request."""

    @property
    def error_code(self) -> int: ...

    @property
    def error_message(self) -> str | None: ...


class BrokerReader:
    """Requests of one principal. overview, queues: snapshots that pages share."""

    def __init__(
        self, context: PluginContext[AdminSettings], principal: Principal = NOBODY
    ) -> None:
        self.context = context
        self._principal = principal
        self.overview = TreeSnapshots(self._read_overview)
        self.queues = TreeSnapshots(self._read_queues)

    @property
    def max_rows(self) -> int:
        return self.context.settings.max_rows

    async def tree(
        self, *, path: str = "", depth: int = -1, most: int = -1, kinds: Sequence[str] = ()
    ) -> TreeReading:
        """Read a part of the tree. Raises KafkaError."""
        return await read_tree_as(
            self._principal,
            self.context.parts,
            path=path,
            depth=depth,
            most=most,
            kinds=kinds,
        )

    async def requests(
        self, which: int, *, keys: Sequence[int], client_id: str | None, most: int
    ) -> DescribeRequestsResponse:
        """List requests in flight, the latest or the slowest. Raises KafkaError."""
        request = DescribeRequestsRequest(which, list(keys), client_id, most)
        return await self._ask(request)

    async def plugins(self) -> ListPluginsResponse:
        """List the plugins. Raises KafkaError."""
        return await self._ask(ListPluginsRequest())

    async def _read_overview(self) -> TreeSnapshot:
        look = (await self.tree(kinds=WORKING)).snapshot(trio.current_time())
        parts, (root, *_) = self.context.parts, next(iter(look.nodes))
        in_flight = await self.requests(
            IN_FLIGHT, keys=watched_keys(parts), client_id=None, most=_MOST_WAITS
        )
        waits = await long_waits(root, in_flight.requests)
        return TreeSnapshot(look.at, {**look.nodes, **waits, **await group_lags(root, parts)})

    async def _read_queues(self) -> TreeSnapshot:
        return (await self.tree(kinds=QUEUES)).snapshot(trio.current_time())

    async def _ask(self, request: Request[Answer]) -> Answer:
        answer: Answer = await self.context.ask(
            request, principal=self._principal, client_id=CLIENT_ID
        )
        if answer.error_code:
            raise KafkaError(ErrorCode(answer.error_code), answer.error_message)
        return answer
