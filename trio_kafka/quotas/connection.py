"""Limits on connections: how many, how fast they come, and which have to wait. No I/O.

An accepted connection arrives: the rates of its listener and of the broker are measured. It enters
when there is room, and is then admitted, or rejected for the rate of its address. An entered
connection leaves at its end.

The listener between brokers is exempt from the broker's own limits, unless it is the only one. A
listener without limits of its own has those of the broker. Times are whole milliseconds of any
clock. Source: ConnectionQuotas of Apache Kafka 4.4.0; KIP-402, KIP-612.
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
    """Limits of one listener: connections at once, and new connections a second."""

    connections: int = UNLIMITED
    rate: int = UNLIMITED


@frozen(kw_only=True)
class ConnectionBounds:
    """Limits of a broker. addresses: limits that replace `per_address`, by address."""

    connections: int = UNLIMITED
    rate: int = UNLIMITED
    per_address: int = UNLIMITED
    addresses: Mapping[str, int] = {}
    listeners: Mapping[str, ListenerBounds] = {}

    def of_listener(self, name: str) -> ListenerBounds:
        """Return a listener's own limits, or those of the broker."""
        own = self.listeners.get(name)
        return own or ListenerBounds(connections=self.connections, rate=self.rate)


@define(eq=False)
class ListenerAccount:
    """Counts of one listener, kept while it is open or has connections."""

    name: str
    bounds: ListenerBounds
    rate: Rate
    count: int = 0
    throttled: Average = field(factory=Average)  # ms that its accepting waited, of those that did
    refused: Average = field(factory=Average)  # ms, of addresses that came too fast


class ConnectionAccounts:
    """Connection counts of a broker.

    protected: listeners that the broker's own limits do not stop while there is another one after
    them, in this order; all others come last. windows, window_ms: the windows of rates.
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
        # The latest address is last: the first is dropped when its windows are empty.
        self._rates: OrderedDict[str, tuple[Rate, int]] = OrderedDict()

    def open(self, name: str) -> ListenerAccount:
        """Add a listener that accepts from now on."""
        rate = Rate(self._windows, self._window_ms)
        account = ListenerAccount(name, self.bounds.of_listener(name), rate)
        self._listeners.append(account)
        return account

    def close(self, account: ListenerAccount) -> None:
        """Remove a listener; its connections may continue."""
        self._listeners.remove(account)

    def obey(self, bounds: ConnectionBounds) -> None:
        """Apply new limits; connections beyond them are the `excess`."""
        self.bounds = bounds
        for account in self._listeners:
            account.bounds = bounds.of_listener(account.name)

    def set_address_rate(self, address: str | None, rate: int | None) -> None:
        """Set the limit of new connections a second of one address.

        address: None: every address without a limit of its own. rate: None removes the limit.
        """
        if address is None:
            self._usual_rate = rate
        elif rate is None:
            self._limits.pop(address, None)
        else:
            self._limits[address] = rate

    def is_protected(self, account: ListenerAccount) -> bool:
        """Return whether a listener is exempt from the broker's own limits."""
        rank = self._ranks.get(account.name)
        if rank is None:
            return False
        last = len(self._ranks)
        return any(self._ranks.get(listener.name, last) > rank for listener in self._listeners)

    def arrive(self, account: ListenerAccount, now_ms: int) -> int:
        """Count an accepted connection; return the ms that it must wait before it enters."""
        wait_ms = 0
        if not self.is_protected(account):
            wait_ms = self._throttle_ms(self.rate, self.bounds.rate, now_ms)
        wait_ms = max(wait_ms, self._throttle_ms(account.rate, account.bounds.rate, now_ms))
        if wait_ms > 0:
            account.throttled.record(wait_ms, now_ms)
        return wait_ms

    def has_room(self, account: ListenerAccount) -> bool:
        """Return whether a connection may enter."""
        if account.count >= account.bounds.connections:
            return False
        return self.total < self.bounds.connections or self.is_protected(account)

    def enter(self, account: ListenerAccount, address: str) -> None:
        """Count a connection that enters."""
        self.total += 1
        account.count += 1
        self.addresses[address] = self.addresses.get(address, 0) + 1

    def leave(self, account: ListenerAccount, address: str) -> None:
        """Count the end of a connection that had entered."""
        self.total -= 1
        account.count -= 1
        remaining = self.addresses[address] - 1
        if remaining:
            self.addresses[address] = remaining
        else:
            del self.addresses[address]

    def delay_ms(self, account: ListenerAccount, address: str, now_ms: int) -> int:
        """Return the delay in ms before a connection is closed for its address's rate; 0: it stays.

        A connection that does not stay counts for no rate.
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
        """Return whether an address has more connections than may stay."""
        bounds = self.bounds
        most = bounds.addresses.get(address, bounds.per_address)
        return self.addresses.get(address, 0) > most

    def rate_of(self, address: str) -> int | None:
        """Return the limit of an address's new connections a second; None: there is none."""
        return self._limits.get(address, self._usual_rate)

    @property
    def excess(self) -> int:
        """Return the number of connections above the broker's limit."""
        return max(0, self.total - self.bounds.connections)

    @property
    def measured_addresses(self) -> int:
        """Number of addresses with connections within the windows."""
        return len(self._rates)

    def _throttle_ms(self, rate: Rate, bound: int, now_ms: int) -> int:
        """Count an arrival; return the wait until the rate is within its limit."""
        rate.record(1, now_ms)
        if bound == UNLIMITED:
            return 0
        return min(rate.throttle_ms(bound, now_ms), self._window_ms)

    def _rate_of(self, address: str, now_ms: int) -> Rate:
        """Return the rate of an address; drop rates whose windows are empty."""
        rates, expired_ms = self._rates, now_ms - self._windows * self._window_ms
        while rates and next(iter(rates.values()))[1] <= expired_ms:
            rates.popitem(last=False)
        measured = rates.pop(address, None)
        rate = Rate(self._windows, self._window_ms) if measured is None else measured[0]
        rates[address] = rate, now_ms
        return rate


def address_of(host: str) -> str:
    """Return an address as it is counted: IPv4 in IPv6 form is IPv4; a zone is removed."""
    if ":" not in host:
        return host
    try:
        address = IPv6Address(host.partition("%")[0])
    except ValueError:
        return host
    return str(address.ipv4_mapped or address)


def bound_or_none(bound: int) -> int | None:
    """Return a limit; None where there is none."""
    return None if bound == UNLIMITED else bound


def now_ms(now: float) -> int:
    """Convert seconds to the whole milliseconds of rates."""
    return int(now * 1000)
