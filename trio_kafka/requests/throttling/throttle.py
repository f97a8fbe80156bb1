"""Throttling of clients that exceed their quotas.

The response goes out at once, with a throttle time. Then the broker reads nothing from the
connection until that time has passed (KIP-219). Exempt work (`EXEMPT`, a follower's Fetch, Produce
with acks=0) is only measured. Source: RequestHandlerHelper and KafkaApis of Apache Kafka 4.4.0.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

import trio

from trio_kafka.introspect.tree import Node
from trio_kafka.network.reasons import MuteReason
from trio_kafka.network.request import ConnectionPort, Request
from trio_kafka.purgatory import Timer, Timers
from trio_kafka.quotas.mutation import Charges
from trio_kafka.quotas.quotas import PERCENT, QuotaAccounts, Quotas
from trio_kafka.requests.throttling.throttled import ThrottledRequest

# Requests between brokers: WriteTxnMarkers, AlterPartition and the requests of the quorum.
EXEMPT: Final = frozenset({27, 52, 53, 54, 56, 59})


def unlimited() -> "Throttle":
    """Return a throttle without quotas, for handlers without a broker."""
    node = Node("quotas", "part")
    return Throttle(Quotas(lambda: 0.0, node), Timers(node))


class Throttle:
    """Charges requests to their clients, and mutes connections whose client exceeds a quota.

    active: a quota is in force; if not, requests need not be charged.

    A muted connection is unmuted by a timer, also one that has closed meanwhile: that bounds the
    count of waiting clients. `close` cancels the timers.
    """

    def __init__(self, quotas: Quotas, timers: Timers) -> None:
        self.quotas = quotas
        self.active = quotas.active
        self._timers = timers
        # Requests whose connection is muted, each with its timer, the accounts that count it, and
        # the end of its throttle time.
        self._muted: dict[Request, tuple[Timer, QuotaAccounts, float]] = {}
        quotas.on_toggle(self._toggled)

    # --- charges of handlers

    def limits_of_fetch(
        self, request: Request, most: int, is_follower: bool
    ) -> tuple[int, Callable[[int], int] | None]:
        """Return the maximal bytes of a Fetch, and what admits them; None: they are admitted.

        A larger Fetch would never be admitted. A follower is exempt.
        """
        if not self.active:
            return most, None
        if is_follower:
            self.exempt(request)
            return most, None
        return min(most, self._fetch_limit(request)), partial(self.admit_fetch, request)

    def _fetch_limit(self, request: Request) -> int:
        fetch = self.quotas.fetch
        if not fetch.accounts.active:
            return _MOST_BYTES
        user, client_id = request.connection.principal.name, request.client_id
        return int(min(fetch.most_at_once(user, client_id, self.quotas.now_ms()), _MOST_BYTES))

    def admit_fetch(self, request: Request, size: int) -> int:
        """Charge a Fetch of `size` bytes; return the throttle time in ms.

        If that is above 0, the records must not be sent, and the bytes are not charged.
        """
        now_ms = self.quotas.now_ms()
        worked_ms = self._work(request, now_ms)
        fetch, fetched_ms = self.quotas.fetch, 0
        user, client_id = request.connection.principal.name, request.client_id
        if fetch.accounts.active:
            fetched_ms = fetch.charge(user, client_id, size, now_ms)
            if worked_ms or fetched_ms:
                fetch.note(user, client_id, -size, now_ms)
        return self._mute_longest(request, fetch.accounts, fetched_ms, worked_ms)

    def charge_produce(self, request: Request, *, acknowledged: bool) -> int:
        """Charge the bytes of a Produce, and its time if it is acknowledged.

        Returns the throttle time in ms.
        """
        now_ms = self.quotas.now_ms()
        produce, produced_ms = self.quotas.produce, 0
        if produce.accounts.active:
            user, client_id = request.connection.principal.name, request.client_id
            size = request.stamps.request_bytes
            produced_ms = produce.charge(user, client_id, size, now_ms)
        if acknowledged:
            worked_ms = self._work(request, now_ms)
        else:
            worked_ms = 0
            self.exempt(request)
        return self._mute_longest(request, produce.accounts, produced_ms, worked_ms)

    def mutations(self, request: Request, *, strict: bool) -> Charges:
        """Return the charges of a request that changes topics."""
        return self.quotas.mutation.charges(
            request.connection.principal.name, request.client_id, strict=strict
        )

    # --- charges of all responses

    def charge(self, request: Request, mutated_ms: int = 0) -> int:
        """Charge the time of a request; return the throttle time in ms.

        mutated_ms: throttle time for its changes of topics.
        """
        worked_ms = self._work(request, self.quotas.now_ms())
        return self._mute_longest(request, self.quotas.mutation.accounts, mutated_ms, worked_ms)

    def exempt(self, request: Request) -> None:
        """Measure the time of a request that is exempt from quotas."""
        request.connection.charged = request.stamps
        if self.quotas.request.accounts.active:
            worked = PERCENT * _worked_s(request, self.quotas.now())
            self.quotas.exempt.record(worked, self.quotas.now_ms())

    def is_charged(self, request: Request) -> bool:
        """Return whether a handler has charged the request already."""
        return request.connection.charged is request.stamps

    def _work(self, request: Request, now_ms: int) -> int:
        """Charge the time of the handler, and of sending the connection's previous response."""
        connection, quota = request.connection, self.quotas.request
        before, connection.charged = connection.charged, request.stamps
        if not quota.accounts.active:
            return 0
        worked_s = _worked_s(request, self.quotas.now())
        if before is not None and before.sent:
            worked_s += min(before.sent - before.sending, _SEND_S)
        user, client_id = connection.principal.name, request.client_id
        return quota.charge(user, client_id, PERCENT * worked_s, now_ms)

    def _toggled(self) -> None:
        self.active = self.quotas.active

    def close(self) -> None:
        """Cancel all timers: the planes have ended. Idempotent."""
        while self._muted:
            _, (timer, accounts, _) = self._muted.popitem()
            self._timers.cancel(timer)
            accounts.waiting -= 1

    def muted(self) -> dict[ConnectionPort, ThrottledRequest]:
        """Return the throttled connections, each with the request that exceeded a quota."""
        return {
            request.connection: ThrottledRequest(request, accounts, deadline)
            for request, (_, accounts, deadline) in self._muted.items()
        }

    # --- muting

    def _mute_longest(
        self, request: Request, used: QuotaAccounts, used_ms: int, worked_ms: int
    ) -> int:
        """Mute for the longer of two times, and count that in its quota."""
        if used_ms > worked_ms:
            self._mute(request, used, used_ms)
            return used_ms
        if worked_ms:
            self._mute(request, self.quotas.request.accounts, worked_ms)
        return worked_ms

    def _mute(self, request: Request, accounts: QuotaAccounts, wait_ms: int) -> None:
        connection, now_ms = request.connection, self.quotas.now_ms()
        account = accounts.of(connection.principal.name, request.client_id, now_ms)
        account.waited.record(wait_ms, now_ms)
        accounts.waiting += 1
        request.stamps.throttled_s = wait_ms / 1000
        connection.mute(MuteReason.THROTTLED)
        deadline = trio.current_time() + wait_ms / 1000
        timer = self._timers.at(deadline, partial(self._unmute, request))
        self._muted[request] = timer, accounts, deadline

    def _unmute(self, request: Request) -> None:
        _, accounts, _ = self._muted.pop(request)
        accounts.waiting -= 1
        if not request.connection.closed:
            request.connection.unmute(MuteReason.THROTTLED)


_MOST_BYTES: Final = (1 << 31) - 1
_SEND_S: Final = 0.002  # of a send: a longer one has waited for the peer


def _worked_s(request: Request, now: float) -> float:
    """Return the handler's own time until now, or until the request was parked."""
    stamps = request.stamps
    return max((stamps.handled or now) - stamps.begun, 0.0)
