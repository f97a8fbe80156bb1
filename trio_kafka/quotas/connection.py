"""How many connections there are, how fast they come, and who has to wait: sums, no I/O.

A connection that was accepted arrives (its listener and the broker measure their rates), enters
when there is room for it, and is admitted or refused for its address's sake; one that entered
leaves. The listener of the brokers is exempt from what holds for the whole broker, where it is not
the only one. A listener without limits of its own has those of the broker. Times are whole
milliseconds of any clock. Source: ConnectionQuotas of Apache Kafka 4.4.0; KIP-402, KIP-612.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from ipaddress import IPv6Address
from typing import Final

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.quotas.average import Average
from trio_kafka.quotas.rate import Rate

UNLIMITED: Final = (1 << 31) - 1


@frozen(kw_only=True)
class ListenerBounds:
    """Of one listener: connections at once, and new ones in a second."""

    connections: int = UNLIMITED
    rate: int = UNLIMITED


@frozen(kw_only=True)
class ConnectionBounds:
    """Of a broker. `addresses`: what holds for some instead of `per_address`."""

    connections: int = UNLIMITED
    rate: int = UNLIMITED
    per_address: int = UNLIMITED
    addresses: Mapping[str, int] = {}
    listeners: Mapping[str, ListenerBounds] = {}

    def of_listener(self, name: str) -> ListenerBounds:
        """Its own, else the broker's."""
        own = self.listeners.get(name)
        return own or ListenerBounds(connections=self.connections, rate=self.rate)


@define(eq=False)
class ListenerAccount:
    """Of one listener, while it is open and while connections of it are."""

    name: str
    bounds: ListenerBounds
    rate: Rate
    count: int = 0
    throttled: Average = field(factory=Average)  # ms that its accepting waited, of those that did
    refused: Average = field(factory=Average)  # ms, of addresses that came too fast


class ConnectionAccounts:
    """Of a broker. protected: names of listeners that the broker's own limits do not stop as long
    as there is one behind them: in this order, and all others behind the last. windows, window_ms:
    what rates are measured over.
    """

    def __init__(
        self, protected: Sequence[str] = (), windows: int = 11, window_ms: int = 1000
    ) -> None:
        self.bounds = ConnectionBounds()
        self.total = 0
        self.addresses: dict[str, int] = {}
        self.rate = Rate(windows, window_ms)
        self._ranks = {name: rank for rank, name in enumerate(protected)}
        self._windows = windows
        self._window_ms = window_ms
        self._listeners: list[ListenerAccount] = []
        self._usual_rate: int | None = None
        self._limits: dict[str, int] = {}
        # Who came last is last: the first is forgotten when its windows are empty.
        self._rates: OrderedDict[str, tuple[Rate, int]] = OrderedDict()

    def open(self, name: str) -> ListenerAccount:
        """A listener accepts from now on."""
        rate = Rate(self._windows, self._window_ms)
        account = ListenerAccount(name, self.bounds.of_listener(name), rate)
        self._listeners.append(account)
        return account

    def close(self, account: ListenerAccount) -> None:
        """It does not any more; connections of it may go on."""
        self._listeners.remove(account)

    def obey(self, bounds: ConnectionBounds) -> None:
        """From now on; what is above a new bound is `excess`."""
        self.bounds = bounds
        for account in self._listeners:
            account.bounds = bounds.of_listener(account.name)

    def set_address_rate(self, address: str | None, rate: int | None) -> None:
        """New connections of an address in a second; of every other one if None. A rate of None:
        no limit of its own.
        """
        if address is None:
            self._usual_rate = rate
        elif rate is None:
            self._limits.pop(address, None)
        else:
            self._limits[address] = rate

    def is_protected(self, account: ListenerAccount) -> bool:
        """What holds for the whole broker does not hold for it."""
        rank = self._ranks.get(account.name)
        if rank is None:
            return False
        last = len(self._ranks)
        return any(self._ranks.get(one.name, last) > rank for one in self._listeners)

    def arrive(self, account: ListenerAccount, now_ms: int) -> int:
        """A connection was accepted: how many ms it must wait before it may enter."""
        wait_ms = 0
        if not self.is_protected(account):
            wait_ms = self._throttle_ms(self.rate, self.bounds.rate, now_ms)
        wait_ms = max(wait_ms, self._throttle_ms(account.rate, account.bounds.rate, now_ms))
        if wait_ms > 0:
            account.throttled.record(wait_ms, now_ms)
        return wait_ms

    def has_room(self, account: ListenerAccount) -> bool:
        """A connection may enter."""
        if account.count >= account.bounds.connections:
            return False
        return self.total < self.bounds.connections or self.is_protected(account)

    def enter(self, account: ListenerAccount, address: str) -> None:
        """Count a connection."""
        self.total += 1
        account.count += 1
        self.addresses[address] = self.addresses.get(address, 0) + 1

    def leave(self, account: ListenerAccount, address: str) -> None:
        """A connection that entered has ended."""
        self.total -= 1
        account.count -= 1
        left = self.addresses[address] - 1
        if left:
            self.addresses[address] = left
        else:
            del self.addresses[address]

    def delay_ms(self, account: ListenerAccount, address: str, now_ms: int) -> int:
        """Above 0: it must not stay, as its address makes connections too fast; it should learn
        that after so long. It does not count for any rate.
        """
        limit = self.rate_of(address)
        if limit is None:
            return 0
        rate = self._rate_of(address, now_ms)
        delay_ms = self._throttle_ms(rate, limit, now_ms)
        if delay_ms > 0:
            rate.record(-1, now_ms)
            account.rate.record(-1, now_ms)
            if not self.is_protected(account):
                self.rate.record(-1, now_ms)
            account.refused.record(delay_ms, now_ms)
        return delay_ms

    def is_crowded(self, address: str) -> bool:
        """More connections of an address have entered than may stay."""
        bounds = self.bounds
        most = bounds.addresses.get(address, bounds.per_address)
        return self.addresses.get(address, 0) > most

    def rate_of(self, address: str) -> int | None:
        """The limit of an address's new connections in a second; None: there is none."""
        return self._limits.get(address, self._usual_rate)

    @property
    def excess(self) -> int:
        """Connections above the broker's bound."""
        return max(0, self.total - self.bounds.connections)

    @property
    def measured_addresses(self) -> int:
        """Addresses whose rate is kept: those that came within the windows."""
        return len(self._rates)

    def _throttle_ms(self, rate: Rate, bound: int, now_ms: int) -> int:
        """Count an arrival: how long to wait, at most one window, until the rate is kept again."""
        rate.record(1, now_ms)
        if bound == UNLIMITED:
            return 0
        return min(rate.throttle_ms(bound, now_ms), self._window_ms)

    def _rate_of(self, address: str, now_ms: int) -> Rate:
        """Its rate; those whose windows are empty by now are as good as new ones, and go."""
        rates, expired_ms = self._rates, now_ms - self._windows * self._window_ms
        while rates and next(iter(rates.values()))[1] <= expired_ms:
            rates.popitem(last=False)
        known = rates.pop(address, None)
        rate = Rate(self._windows, self._window_ms) if known is None else known[0]
        rates[address] = rate, now_ms
        return rate


def address_of(host: str) -> str:
    """An address as it is counted: IPv4 that is written as IPv6 is IPv4, a zone is left out."""
    if ":" not in host:
        return host
    try:
        address = IPv6Address(host.partition("%")[0])
    except ValueError:
        return host
    return str(address.ipv4_mapped or address)


def bound_or_none(bound: int) -> int | None:
    """None where nothing is limited."""
    return None if bound == UNLIMITED else bound


def now_ms(now: float) -> int:
    """Seconds as the whole milliseconds that rates are measured in."""
    return int(now * 1000)
