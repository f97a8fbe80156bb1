"""Usage by client, for one kind of quota: one account for all clients that share a limit.

An account without use for an hour is dropped, as Kafka's sensors are. With too many accounts the
least recently used one is dropped: a client that changes its id with each request costs memory
once, and gains nothing, since a new id has a fresh account anyway.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Final, Generic, TypeVar

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.quotas.average import Average
from trio_kafka.quotas.limits import Entity, Limits, Payer

M = TypeVar("M")

UNLIMITED: Final = float((1 << 63) - 1)
IDLE_MS: Final = 3_600_000
MOST: Final = 10_000  # accounts of one kind
_SHOWN: Final = 100  # of them, in the tree


@define(eq=False)
class Account(Generic[M]):
    """Usage of clients that share a limit.

    bound: the limit of `meter`. waited: throttle times that clients were told, in ms.
    """

    payer: Payer
    meter: M
    bound: float = UNLIMITED
    used_ms: int = 0
    limits_version: int = -1  # of the limits from which `bound` was computed
    waited: Average = field(factory=Average)


class Accounts(Generic[M]):
    """Accounts of one kind of quota.

    make: makes a new meter. figures: reads the figures of an account.
    """

    def __init__(
        self,
        name: str,
        *,
        make: Callable[[], M],
        node: Node,
        figures: Callable[[Account[M]], Figures],
        most: int = MOST,
    ) -> None:
        self.name = name
        self.active = False  # any client is limited
        self.waiting = 0  # connections that are throttled now
        self.limits = Limits()
        self._make = make
        self._most = most
        self._figures_of = figures
        self._accounts: OrderedDict[Payer, Account[M]] = OrderedDict()  # the last used is last
        self._limits_version = 0
        self.node = node.add(name, "part", self.figures)
        self._nodes: dict[Payer, Node] = {}

    def __len__(self) -> int:
        return len(self._accounts)

    def __iter__(self) -> Iterator[Account[M]]:
        return iter(tuple(self._accounts.values()))

    def set(self, entity: Entity, limit: float | None) -> None:
        """Set the limit of an entity, from now on; None removes it."""
        self.limits.set(entity, None if limit is None else min(limit, UNLIMITED))
        self._limits_version += 1
        self.active = bool(self.limits)

    def of(self, user: str, client_id: str, now_ms: int) -> Account[M]:
        """Return the account of a client."""
        payer = self.limits.payer(user, client_id)
        accounts = self._accounts
        account = accounts.get(payer)
        if account is None:
            account = self._open(payer, now_ms)
        else:
            accounts.move_to_end(payer)
        account.used_ms = now_ms
        if account.limits_version != self._limits_version:
            account.limits_version = self._limits_version
            limit = self.limits.limit(payer)
            account.bound = UNLIMITED if limit is None else limit
        return account

    def expire(self, now_ms: int) -> None:
        """Drop accounts without use for an hour."""
        while self._accounts:
            oldest = next(iter(self._accounts.values()))
            if oldest.used_ms > now_ms - IDLE_MS:
                return
            self._close(oldest.payer)

    def figures(self) -> Figures:
        return {
            "limits": len(self.limits),
            "accounts": len(self._accounts),
            "queue-size": self.waiting,
        }

    def _open(self, payer: Payer, now_ms: int) -> Account[M]:
        self.expire(now_ms)
        if len(self._accounts) >= self._most:
            self._close(next(iter(self._accounts)))
        account = self._accounts[payer] = Account(payer, self._make())
        if len(self._nodes) < _SHOWN:
            name = f"user={payer.user},client-id={payer.client_id}"
            self._nodes[payer] = self.node.add(name, "part", lambda: self._figures_of(account))
        return account

    def _close(self, payer: Payer) -> None:
        del self._accounts[payer]
        node = self._nodes.pop(payer, None)
        if node is not None:
            node.remove()
