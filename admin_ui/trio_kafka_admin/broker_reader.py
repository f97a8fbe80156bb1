"""Broker state for pages.

It is read in process, with the permissions and the bounds of DescribeTree, DescribeRequests and
ListPlugins, and waits for no handler: a page answers while all of them are taken. A reading is no
request, so the UI does not appear in what it shows.
"""

from collections.abc import Container, Sequence
from functools import partial

import trio

from trio_kafka.config.report.describe import Row as SettingRow
from trio_kafka.coordinators.groups.facts.lag_samples import LagKey, LagSamples
from trio_kafka.introspect.facts.connections import ConnectionFacts, ConnectionSearch
from trio_kafka.introspect.facts.groups import GroupFacts
from trio_kafka.introspect.facts.requests import OpenedRequest, RequestFacts
from trio_kafka.introspect.facts.storage import DirectoryFacts
from trio_kafka.introspect.facts.topics import TopicDetails
from trio_kafka.introspect.facts.transactions import OpenTransactions, TransactionFacts
from trio_kafka.introspect.log_tail import LogEvent, LogTail
from trio_kafka.introspect.recording import Recording
from trio_kafka.introspect.snapshots import QUEUES, TreeSnapshot
from trio_kafka.introspect.tasks import TaskReading
from trio_kafka.introspect.tree_reader import TreeReading
from trio_kafka.plugin import PluginContext
from trio_kafka.plugin_host.broker_access import (
    QuotaReading,
    find_task_as,
    list_tasks_as,
    read_log_as,
    read_quotas_as,
    read_settings_as,
)
from trio_kafka.plugin_host.client_access import ClientDetails, ClientPage
from trio_kafka.plugin_host.group_access import GroupPage
from trio_kafka.plugin_host.state_access import (
    is_allowed,
    list_plugins_as,
    read_requests_as,
    read_tree_as,
    record_as,
)
from trio_kafka.plugin_host.topic_access import TopicPage
from trio_kafka.plugin_host.transaction_access import TransactionPage
from trio_kafka.protocol.messages.k10002_list_plugins import ListPluginsResponse
from trio_kafka.protocol.messages.k10010_describe_requests import DescribeRequestsResponse
from trio_kafka.requests.inspection import Selection
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import NOBODY, Principal
from trio_kafka_admin.findings.evaluation import find
from trio_kafka_admin.findings.history import History
from trio_kafka_admin.lag_history import LagHistory
from trio_kafka_admin.moments import Moment, read_moment
from trio_kafka_admin.mute_history import MuteHistory
from trio_kafka_admin.rate_history import RateHistory
from trio_kafka_admin.readings.clients import read_client, read_client_page
from trio_kafka_admin.readings.connections import read_connections, search_connections
from trio_kafka_admin.readings.directories import read_directories
from trio_kafka_admin.readings.groups import read_group_page, read_groups, sample_lags
from trio_kafka_admin.readings.requests_in_flight import read_request, read_requests_in_flight
from trio_kafka_admin.readings.task_stacks import TaskStack, load_stackscope, stack_of
from trio_kafka_admin.readings.topics import read_topic, read_topic_page
from trio_kafka_admin.readings.transactions import (
    read_open_transactions,
    read_transaction,
    read_transaction_page,
)
from trio_kafka_admin.rewinding import Past
from trio_kafka_admin.settings import AdminSettings
from trio_kafka_admin.tree_snapshots import Snapshots, TreeSnapshots


class BrokerReader:
    """Readings for one principal. moments, queues: snapshots that pages share. findings: of the
    moments that viewers asked for. lag_history: lag of groups while pages look at it. traffic:
    rates of topics, partitions and connections while pages look at them. mutes: pauses of
    connections, as pages saw them.
    """

    def __init__(
        self,
        context: PluginContext[AdminSettings],
        principal: Principal = NOBODY,
        *,
        log_tail: LogTail | None = None,
    ) -> None:
        """log_tail: the last events of the log; None: none are kept."""
        self.context = context
        self._principal = principal
        self._log_tail = log_tail
        self._used = set[Operation]()  # permissions of the readings so far
        self._pasts = dict[str, Past]()
        self.moments = Snapshots(partial(read_moment, self))
        self.findings = History()
        self.queues = TreeSnapshots(self._read_queues)
        self.lag_history = LagHistory(self._sample_lags)
        self.traffic = RateHistory()
        self.mutes = MuteHistory()

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

    async def groups(self, *, only: str | None = None, most: int = -1) -> Sequence[GroupFacts]:
        """Read the groups, the most troubled first: see `group_access.read_groups_as`."""
        await self.lag_history.sample()
        return await read_groups(self.context.parts, self._principal, only=only, most=most)

    async def group_page(self, *, of: str, first: int, most: int) -> GroupPage:
        """Read some groups in their order by trouble: see `group_access.read_group_page_as`."""
        await self.lag_history.sample()
        return await read_group_page(
            self.context.parts, self._principal, of=of, first=first, most=most
        )

    async def transaction_page(
        self, *, of: str = "", first: int = 0, most: int, only_open: bool = False
    ) -> TransactionPage:
        """Read transactional ids: see `transaction_access.read_transaction_page_as`."""
        parts = self.context.parts
        return await read_transaction_page(
            parts, self._principal, of=of, first=first, most=most, only_open=only_open
        )

    async def transaction(self, name: str) -> TransactionFacts | None:
        """Read one transactional id: see `transaction_access.read_transaction_as`."""
        return await read_transaction(self.context.parts, self._principal, name)

    async def open_transactions(self, *, most: int) -> OpenTransactions:
        """Read open transactions: see `transaction_access.read_open_transactions_as`."""
        return await read_open_transactions(self.context.parts, self._principal, most=most)

    async def topic_page(self, *, of: str, first: int, most: int) -> TopicPage:
        """Read some topics in their order: see `topic_access.read_topic_page_as`."""
        return await read_topic_page(
            self.context.parts, self._principal, self.traffic, of=of, first=first, most=most
        )

    async def topic(self, name: str, *, most: int) -> TopicDetails | None:
        """Read one topic: see `topic_access.read_topic_as`."""
        return await read_topic(self.context.parts, self._principal, name, most=most)

    async def client_page(self, *, of: str, first: int, most: int) -> ClientPage:
        """Read some clients: see `client_access.read_client_page_as`."""
        self._used.add(Operation.DESCRIBE)
        return await read_client_page(
            self.context.parts, self._principal, of=of, first=first, most=most
        )

    async def client(self, name: str, *, most: int) -> ClientDetails:
        """Read one client: see `client_access.read_client_as`."""
        self._used.add(Operation.DESCRIBE)
        return await read_client(self.context.parts, self._principal, name, most=most)

    async def _sample_lags(self, tracked: Container[LagKey], most: int) -> LagSamples:
        return await sample_lags(self.context.parts, self._principal, tracked=tracked, most=most)

    async def requests_in_flight(
        self, *, keys: Sequence[int] = (), client_id: str | None = None, most: int = -1
    ) -> Sequence[RequestFacts]:
        """See `read_requests_in_flight`. Raises KafkaError."""
        self._used.add(Operation.DESCRIBE)
        return await read_requests_in_flight(
            self.context.parts, self._principal, keys=keys, client_id=client_id, most=most
        )

    async def request(self, connection: str, correlation: int) -> OpenedRequest | None:
        """See `read_request`. Raises KafkaError."""
        self._used.add(Operation.DESCRIBE)
        return await read_request(self.context.parts, self._principal, connection, correlation)

    async def connections(self, *, most: int = -1) -> Sequence[ConnectionFacts]:
        """See `read_connections`. Raises KafkaError."""
        self._used.add(Operation.DESCRIBE)
        return await read_connections(self.context.parts, self._principal, most=most)

    async def search_connections(self, *, of: str, most: int) -> ConnectionSearch:
        """See `readings.connections.search_connections`. Raises KafkaError."""
        self._used.add(Operation.DESCRIBE)
        return await search_connections(self.context.parts, self._principal, of=of, most=most)

    async def directories(self, *, sizes: bool = False) -> Sequence[DirectoryFacts]:
        """See `read_directories`. Raises KafkaError."""
        self._used.add(Operation.DESCRIBE)
        return await read_directories(self.context.parts, self._principal, sizes=sizes)

    async def plugins(self) -> ListPluginsResponse:
        """List the plugins. Raises KafkaError."""
        self._used.add(Operation.DESCRIBE_CONFIGS)
        await trio.lowlevel.checkpoint()
        return list_plugins_as(self._principal, self.context.parts)

    async def moment(self) -> Moment:
        """Return a moment that is at most `tree_snapshots.FRESH_S` old. Raises KafkaError."""
        return (await self.moments.two())[1]

    async def moments_with_findings(self) -> tuple[Moment, Moment]:
        """Return the moment of ten seconds ago, or the nearest to it, and the newest.

        `findings` is then about the newest. Waits for a second moment if there is only one.
        Raises KafkaError.
        """
        before, now = await self.moments.pair()
        if not self.findings.knows(now.at):
            findings = await find(before, now)
            if not self.findings.knows(now.at):  # another viewer's
                self.findings.add(now.at, findings)
        return before, now

    async def settings(self) -> list[SettingRow]:
        """Return the settings of the broker. Raises KafkaError."""
        self._used.add(Operation.DESCRIBE_CONFIGS)
        return await read_settings_as(self._principal, self.context.parts)

    async def quotas(self, *, most: int) -> QuotaReading:
        """Return limits and usage of clients, at most `most` of each. Raises KafkaError."""
        self._used.add(Operation.DESCRIBE)
        return await read_quotas_as(self._principal, self.context.parts, most=most)

    async def tasks(self, *, most: int) -> TaskReading:
        """List the tasks of the process. Raises KafkaError."""
        self._used.add(Operation.DESCRIBE)
        return await list_tasks_as(self._principal, self.context.parts, most=most)

    async def task_stack(self, path: str) -> TaskStack:
        """Return the stack of a task. Raises KafkaError."""
        self._used.add(Operation.DESCRIBE)
        await load_stackscope(self.context.world.run_in_thread)
        return stack_of(find_task_as(self._principal, self.context.parts, path))

    async def log(self) -> list[LogEvent]:
        """Return the last events of the log, the oldest first. Raises KafkaError."""
        self._used.add(Operation.DESCRIBE)
        await trio.lowlevel.checkpoint()
        tail = self._log_tail
        return [] if tail is None else read_log_as(self._principal, self.context.parts, tail)

    async def _read_queues(self) -> TreeSnapshot:
        return (await self.tree(kinds=QUEUES)).snapshot(trio.current_time())
