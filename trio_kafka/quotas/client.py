"""Quotas of bytes produced and fetched, and of request time, with their throttle times.

Use above a limit has already happened. The client then waits until its rate, without further use,
is back at the limit. Amounts are bytes, or percents of one thread's time: 100 in a second are all
of it. Times are whole milliseconds of any clock. Source: ClientQuotaManager and
ClientRequestQuotaManager of Apache Kafka 4.4.0; KIP-13, KIP-124, KIP-219.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.quotas.accounts import UNLIMITED, Account, Accounts
from trio_kafka.quotas.rate import MOST_MS, Rate


@frozen
class Windows:
    """Number and length of the windows of a measurement."""

    count: int = 11
    size_ms: int = 1000


USUAL: Final = Windows()


class ClientQuota:
    """One kind of quota.

    measure: Kafka's name of the rate. most_ms: the longest throttle time.
    """

    def __init__(
        self,
        name: str,
        *,
        measure: str,
        windows: Windows,
        node: Node,
        now_ms: Callable[[], int],
        most_ms: int = MOST_MS,
    ) -> None:
        self._windows = windows
        self._most_ms = most_ms
        self._measure = measure
        self._now_ms = now_ms
        make = partial(Rate, windows.count, windows.size_ms)
        self.accounts: Accounts[Rate] = Accounts(name, make=make, node=node, figures=self._figures)

    def charge(self, user: str, client_id: str, amount: float, now_ms: int) -> int:
        """Count what a client used, and return its throttle time in ms; 0: none."""
        account = self.accounts.of(user, client_id, now_ms)
        account.meter.record(amount, now_ms)
        if account.bound >= UNLIMITED:
            return 0
        return min(account.meter.throttle_ms(account.bound, now_ms), self._most_ms)

    def note(self, user: str, client_id: str, amount: float, now_ms: int) -> None:
        """Count an amount without a look at the limit; negative: give back what was not used."""
        self.accounts.of(user, client_id, now_ms).meter.record(amount, now_ms)

    def most_at_once(self, user: str, client_id: str, now_ms: int) -> float:
        """Return the largest amount that does not exceed the limit of an unused account."""
        bound = self.accounts.of(user, client_id, now_ms).bound
        if bound >= UNLIMITED:
            return UNLIMITED
        return bound * (self._windows.count - 1) * (self._windows.size_ms / 1000)

    def _figures(self, account: Account[Rate]) -> Figures:
        now_ms = self._now_ms()
        return {
            self._measure: account.meter.measure(now_ms),
            "throttle-time": account.waited.measure(now_ms),
            "limit": None if account.bound >= UNLIMITED else account.bound,
        }
