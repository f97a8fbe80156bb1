"""Broker state for pages.

It is read in process, with the permissions and the bounds of DescribeTree, DescribeRequests and
ListPlugins, and waits for no handler: a page answers while all of them are taken. A reading is no
request, so the UI does not appear in what it shows.
"""

from collections.abc import Sequence
from typing import Final

import trio

from trio_kafka.introspect.recording import Recording
from trio_kafka.introspect.snapshots import QUEUES, WORKING, TreeSnapshot
from trio_kafka.introspect.tree_reader import TreeReading
from trio_kafka.plugin import PluginContext
from trio_kafka.plugin_host.state_access import (
    is_allowed,
    list_plugins_as,
    read_requests_as,
    read_tree_as,
    record_as,
)
from trio_kafka.protocol.messages.k10002_list_plugins import ListPluginsResponse
from trio_kafka.protocol.messages.k10010_describe_requests import (
    IN_FLIGHT,
    DescribeRequestsResponse,
)
from trio_kafka.requests.inspection import Selection
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import NOBODY, Principal
from trio_kafka_admin.derived_nodes import group_lags, long_waits, watched_keys
from trio_kafka_admin.rewinding import Past
from trio_kafka_admin.settings import AdminSettings
from trio_kafka_admin.tree_snapshots import TreeSnapshots

_MOST_WAITS: Final = 1000  # requests in flight that the overview reads


class BrokerReader:
    """Readings for one principal. overview, queues: snapshots that pages share."""

    def __init__(
        self, context: PluginContext[AdminSettings], principal: Principal = NOBODY
    ) -> None:
        self.context = context
        self._principal = principal
        self._used = set[Operation]()  # permissions of the readings so far
        self._pasts = dict[str, Past]()
        self.overview = TreeSnapshots(self._read_overview)
        self.queues = TreeSnapshots(self._read_queues)

    @property
    def max_rows(self) -> int:
        return self.context.settings.max_rows

    def past(self, page: str) -> Past:
        """Return what was kept of a page."""
        return self._pasts.setdefault(page, Past())

    @property
    def is_current(self) -> bool:
        """False once the principal lacks a permission that an earlier reading needed.

        What such a reader has read must not be shown to the principal any more.
        """
        parts = self.context.parts
        return all(is_allowed(self._principal, parts, operation) for operation in self._used)

    async def tree(
        self,
        *,
        path: str = "",
        depth: int = -1,
        most: int = -1,
        kinds: Sequence[str] = (),
        counts: bool = False,
    ) -> TreeReading:
        """Read a part of the tree: see `introspect.tree_reader.read_tree`. Raises KafkaError."""
        self._used.add(Operation.DESCRIBE)
        return await read_tree_as(
            self._principal,
            self.context.parts,
            path=path,
            depth=depth,
            most=most,
            kinds=kinds,
            counts=counts,
        )

    async def requests(
        self, which: int, *, keys: Sequence[int], client_id: str | None, most: int
    ) -> DescribeRequestsResponse:
        """List requests in flight, the latest or the slowest. Raises KafkaError."""
        self._used.add(Operation.DESCRIBE)
        return await read_requests_as(
            self._principal,
            self.context.parts,
            Selection(which),
            keys=frozenset(keys),
            client_id=client_id,
            most=most,
        )

    async def record(self, seconds: float) -> Recording:
        """Record what runs in the next seconds. Raises KafkaError."""
        self._used.add(Operation.DESCRIBE)
        return await record_as(self._principal, self.context.parts, seconds)

    async def plugins(self) -> ListPluginsResponse:
        """List the plugins. Raises KafkaError."""
        self._used.add(Operation.DESCRIBE_CONFIGS)
        await trio.lowlevel.checkpoint()
        return list_plugins_as(self._principal, self.context.parts)

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
