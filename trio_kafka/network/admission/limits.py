"""Limits of connections: who waits for a place, who is refused, who is closed for another's sake.

One for all planes of a broker. The sums are those of `quotas.connection`; here are the sockets. A
listener has a `Gate`; acceptors wait for room in one line, first come, first served. What takes
time is done by the tasks of `run`: sockets of addresses that came too fast are kept until their
delay is over (`held`), connections above the broker's limit are closed (`excess`), hosts of
`max.connections.per.ip.overrides` are looked up (`overrides`).
Source: KIP-402, KIP-612; Acceptor, Processor and ConnectionQuotas of Apache Kafka 4.4.0.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence

import attrs
import trio

from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.network.admission.delayed_close import Held
from trio_kafka.network.admission.eviction import close_excess
from trio_kafka.network.admission.gate import Gate
from trio_kafka.network.admission.overrides import Overrides
from trio_kafka.network.admission.slot import Slot
from trio_kafka.quotas.connection import (
    ConnectionAccounts,
    ConnectionBounds,
    address_of,
    bound_or_none,
    now_ms,
)
from trio_kafka.world.protocols import Network


class ConnectionLimits:
    """Of one broker. protected: listeners whose connections the broker's limits do not stop, see
    `ConnectionAccounts`.

    windows, window_ms: what rates are measured over.
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
        self.counters = counters
        self.node = node.add("connection-limits", "part", self.figures)
        self.gates: list[Gate] = []
        self.held = Held()
        self.overrides = Overrides(network, self._obey_addresses)
        self._line: OrderedDict[Slot, trio.Event] = OrderedDict()
        self._exceeded = trio.Event()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Until cancelled; started when the hosts that were given were looked up."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.held.run, name="connection-limits-held")
            nursery.start_soon(close_excess, self, name="connection-limits-excess")
            await nursery.start(self.overrides.run, name="connection-limits-overrides")
            task_status.started()

    def obey(self, bounds: ConnectionBounds) -> None:
        """From now on. Connections that are above the broker's limit are closed, others stay."""
        known = self.overrides.set(bounds.addresses)
        self.accounts.obey(attrs.evolve(bounds, addresses=known))
        self.look_again()

    def set_ip_rate(self, address: str | None, rate: int | None) -> None:
        """New connections of an address in a second (the `ip` entity of quotas); of all that have
        no limit of their own if None. A rate of None: the limit is taken away.
        """
        self.accounts.set_address_rate(None if address is None else address_of(address), rate)

    def gate(self, listener: str) -> Gate:
        """A listener's, from when it is bound; whoever asks closes it."""
        gate = Gate(self, listener)
        self.gates.append(gate)
        return gate

    # --- for gates

    async def wait_room(self, slot: Slot) -> None:
        """Until there is room, and the slot has entered; behind those who wait already."""
        event = self._line[slot] = trio.Event()
        try:
            await event.wait()
        finally:
            self._line.pop(slot, None)

    def look_again(self) -> None:
        """There may be room for who waits, or too many."""
        for slot, event in list(self._line.items()):
            if not slot.entered and self.accounts.has_room(slot.account):
                slot.gate.let_in(slot)
                event.set()
        if self.accounts.excess:
            self._exceeded.set()

    async def wait_exceeded(self) -> None:
        """Until there are more connections than the broker may have."""
        while not self.accounts.excess:
            self._exceeded = trio.Event()
            await self._exceeded.wait()
        await trio.lowlevel.checkpoint()

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
            "held": len(self.held),
            "waiting": len(self._line),
        }

    def _obey_addresses(self, addresses: Mapping[str, int]) -> None:
        self.accounts.obey(attrs.evolve(self.accounts.bounds, addresses=addresses))
