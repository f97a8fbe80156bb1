"""Client quotas of one broker, and their names.

Source: QuotaConfig and QuotaType of Apache Kafka 4.4.0.
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.quotas.accounts import Accounts
from trio_kafka.quotas.average import WINDOW_MS, WINDOWS
from trio_kafka.quotas.client import USUAL, ClientQuota, Windows
from trio_kafka.quotas.limits import Entity
from trio_kafka.quotas.mutation import MutationQuota, Mutations
from trio_kafka.quotas.rate import Rate

# Names of quotas where they are set.
PRODUCER_BYTE_RATE: Final = "producer_byte_rate"
CONSUMER_BYTE_RATE: Final = "consumer_byte_rate"
REQUEST_PERCENTAGE: Final = "request_percentage"
CONTROLLER_MUTATION_RATE: Final = "controller_mutation_rate"
CONNECTION_CREATION_RATE: Final = "connection_creation_rate"

# Names of their metrics: `type=<this>,user=…,client-id=…`.
PRODUCE: Final = "Produce"
FETCH: Final = "Fetch"
REQUEST: Final = "Request"
CONTROLLER_MUTATION: Final = "ControllerMutation"

QuotaAccounts: TypeAlias = Accounts[Rate] | Accounts[Mutations]

PERCENT: Final = 100.0  # of the time of one thread, in a second of it


class Quotas:
    """Quotas of four kinds.

    elapsed: seconds of any clock. `active`: true if any client has a limit. `kinds`: accounts of
    each kind, by the name under which its limits are set.
    """

    def __init__(
        self,
        elapsed: Callable[[], float],
        node: Node,
        *,
        windows: Windows = USUAL,
        mutation_windows: Windows = USUAL,
    ) -> None:
        node = node.add("quotas", "part", self.figures)
        self._elapsed = elapsed
        self.active = False
        self.produce = ClientQuota(
            PRODUCE, measure="byte-rate", windows=windows, node=node, now_ms=self.now_ms
        )
        self.fetch = ClientQuota(
            FETCH, measure="byte-rate", windows=windows, node=node, now_ms=self.now_ms
        )
        self.request = ClientQuota(
            REQUEST,
            measure="request-time",
            windows=windows,
            node=node,
            now_ms=self.now_ms,
            most_ms=windows.size_ms,
        )
        self.mutation = MutationQuota(
            CONTROLLER_MUTATION, windows=mutation_windows, node=node, now_ms=self.now_ms
        )
        self.exempt = Rate(WINDOWS, WINDOW_MS)  # percents of requests that are charged to no client
        self._toggled: list[Callable[[], None]] = []
        self.kinds: Mapping[str, QuotaAccounts] = {
            PRODUCER_BYTE_RATE: self.produce.accounts,
            CONSUMER_BYTE_RATE: self.fetch.accounts,
            REQUEST_PERCENTAGE: self.request.accounts,
            CONTROLLER_MUTATION_RATE: self.mutation.accounts,
        }

    def now(self) -> float:
        """Return the time in seconds, on the clock of requests' stamps."""
        return self._elapsed()

    def now_ms(self) -> int:
        """Return the time in the milliseconds that quotas use."""
        return int(self._elapsed() * 1000)

    def on_toggle(self, call: Callable[[], None]) -> None:
        """Add a callback for changes of `active`."""
        self._toggled.append(call)

    def set(self, entity: Entity, values: Mapping[str, float]) -> None:
        """Replace all limits of an entity by `values`, by key; unknown keys are ignored."""
        for key, accounts in self.kinds.items():
            accounts.set(entity, values.get(key))
        active = any(accounts.active for accounts in self.kinds.values())
        if active != self.active:
            self.active = active
            for call in self._toggled:
                call()

    def expire(self) -> bool:
        """Drop unused accounts; return whether any are left."""
        now_ms = self.now_ms()
        for accounts in self.kinds.values():
            accounts.expire(now_ms)
        return any(map(len, self.kinds.values()))

    def figures(self) -> Figures:
        return {
            "active": self.active,
            "exempt-request-time": self.exempt.measure(self.now_ms()),
        }
