"""Connection limits of a broker, for all its planes.

`quotas.connection` does the sums; here are the sockets. Each listener has a `ListenerAdmission`.
Acceptors wait for room in one line. Tasks of `run` close sockets whose delay is over, evict
connections above the limit, and resolve the hosts of `max.connections.per.ip.overrides`.
Source: KIP-402, KIP-612; Acceptor, Processor and ConnectionQuotas of Apache Kafka 4.4.0.
"""

from collections.abc import Mapping, Sequence

import attrs
import trio

from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.network.admission.delayed_close import DelayedCloses
from trio_kafka.network.admission.eviction import close_excess
from trio_kafka.network.admission.listener_admission import ListenerAdmission
from trio_kafka.network.admission.overrides import AddressOverrides
from trio_kafka.network.admission.waiting_line import WaitingLine
from trio_kafka.quotas.connection import (
    ConnectionAccounts,
    ConnectionBounds,
    address_of,
    bound_or_none,
    now_ms,
)
from trio_kafka.world.protocols import Network


class ConnectionLimits:
    """Connection limits of one broker.

    protected: listeners that the broker's limits do not stop, see `ConnectionAccounts`.
    windows, window_ms: over which rates are measured.
    """

    def __init__(
        self,
        network: Network,
        counters: Counters,
        node: Node,
        *,
        protected: Sequence[str] = (),
        windows: int = 11,
        window_ms: int = 1000,
    ) -> None:
        self.accounts = ConnectionAccounts(protected, windows, window_ms)
        self.listeners: list[ListenerAdmission] = []
        self._counters = counters
        self._node = node.add("connection-limits", "part", self.figures)
        self._delayed = DelayedCloses()
        self._overrides = AddressOverrides(network, self._obey_addresses)
        self._line = WaitingLine(self.accounts)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run until cancelled; started when the given hosts were looked up."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._delayed.run, name="connection-limits-held")
            nursery.start_soon(
                close_excess,
                self._line,
                self.accounts,
                self.listeners,
                name="connection-limits-excess",
            )
            await nursery.start(self._overrides.run, name="connection-limits-overrides")
            task_status.started()

    def obey(self, bounds: ConnectionBounds) -> None:
        """Apply limits. Connections above the broker's limit are closed, others stay."""
        addresses = self._overrides.set(bounds.addresses)
        self.accounts.obey(attrs.evolve(bounds, addresses=addresses))
        self._line.recheck()

    def set_ip_rate(self, address: str | None, rate: int | None) -> None:
        """Limit the new connections of an address per second (the `ip` entity of quotas).

        address: None: all without a limit of their own. rate: None removes the limit.
        """
        self.accounts.set_address_rate(None if address is None else address_of(address), rate)

    def admission(self, listener: str) -> ListenerAdmission:
        """Open the admission of a listener; the caller closes it."""
        opened = ListenerAdmission(
            listener,
            accounts=self.accounts,
            line=self._line,
            delayed=self._delayed,
            counters=self._counters,
            node=self._node,
            closed=self.listeners.remove,
        )
        self.listeners.append(opened)
        return opened

    def figures(self) -> Figures:
        accounts = self.accounts
        bounds = accounts.bounds
        return {
            "connections": accounts.total,
            "max_connections": bound_or_none(bounds.connections),
            "max_connection_creation_rate": bound_or_none(bounds.rate),
            "broker-connection-accept-rate": accounts.rate.measure(now_ms(trio.current_time())),
            "addresses": len(accounts.addresses),
            "most_of_an_address": max(accounts.addresses.values(), default=0),
            "max_connections_per_ip": bound_or_none(bounds.per_address),
            "overrides": len(bounds.addresses),
            "addresses_measured": accounts.measured_addresses,
            "held": len(self._delayed),
            "waiting": len(self._line),
        }

    def _obey_addresses(self, addresses: Mapping[str, int]) -> None:
        self.accounts.obey(attrs.evolve(self.accounts.bounds, addresses=addresses))
