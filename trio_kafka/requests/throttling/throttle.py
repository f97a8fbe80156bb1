"""Clients above their quotas wait: told so in the answer, and read no more until it is over.

The answer goes out at once; then its connection is muted for the time that it tells (KIP-219). A
request that nobody pays for (`EXEMPT`, a follower's Fetch, the work of a Produce without acks) is
measured for operators. Source: RequestHandlerHelper and KafkaApis of Apache Kafka 4.4.0.
"""

from functools import partial
from typing import Any, Final

import trio

from trio_kafka.introspect.tree import Node
from trio_kafka.network.reasons import MuteReason
from trio_kafka.network.request import ConnectionPort, Request
from trio_kafka.purgatory import Timers
from trio_kafka.quotas.accounts import Accounts
from trio_kafka.quotas.mutation import Charges
from trio_kafka.quotas.quotas import PERCENT, Quotas

# What brokers ask of one another: WriteTxnMarkers, AlterPartition; and the quorum's own.
EXEMPT: Final = frozenset({27, 52, 53, 54, 56, 59})


def unlimited() -> "Throttle":
    """For whoever has no broker: nobody is limited."""
    node = Node("quotas", "part")
    return Throttle(Quotas(lambda: 0.0, node), Timers(node))


class Throttle:
    """Charges requests to who made them, and mutes whoever used too much.

    active: somebody is limited; if not, nobody needs to be charged.
    """

    def __init__(self, quotas: Quotas, timers: Timers) -> None:
        self.quotas = quotas
        self.active = quotas.active
        self._timers = timers
        quotas.on_toggle(self._toggled)

    # --- what handlers charge themselves

    def fetch_limit(self, request: Request) -> int:
        """The most bytes that a Fetch gives: with more it would be refused for ever."""
        fetch = self.quotas.fetch
        if not fetch.accounts.active:
            return _MOST_BYTES
        user, client_id = request.connection.principal.name, request.client_id
        return int(min(fetch.most_at_once(user, client_id, self.quotas.now_ms()), _MOST_BYTES))

    def admit_fetch(self, request: Request, size: int) -> int:
        """Charge an answer of `size` bytes: 0, or how many ms to wait; then it must not be given,
        and its bytes are not charged.
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
        """Charge the bytes of a Produce, and its work if it gets an answer; how many ms to wait."""
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
        """What a request that changes topics is charged by."""
        return self.quotas.mutation.charges(
            request.connection.principal.name, request.client_id, strict=strict
        )

    # --- what every answer is charged

    def charge(self, request: Request, mutated_ms: int = 0) -> int:
        """Charge the work on a request; how many ms to wait. mutated_ms: for what it changed."""
        worked_ms = self._work(request, self.quotas.now_ms())
        return self._mute_longest(request, self.quotas.mutation.accounts, mutated_ms, worked_ms)

    def exempt(self, request: Request) -> None:
        """Measure the work on a request that nobody pays for."""
        request.connection.charged = request.stamps
        if self.quotas.request.accounts.active:
            worked = PERCENT * _worked_s(request, self.quotas.now())
            self.quotas.exempt.record(worked, self.quotas.now_ms())

    def is_charged(self, request: Request) -> bool:
        """Its handler has charged it already."""
        return request.connection.charged is request.stamps

    def _work(self, request: Request, now_ms: int) -> int:
        """Charge the time of the handler, and what was spent on sending the answer before."""
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

    # --- muting

    def _mute_longest(
        self, request: Request, used: Accounts[Any], used_ms: int, worked_ms: int
    ) -> int:
        """Mute for the longer one of two waits, and count it where it comes from."""
        if used_ms > worked_ms:
            self._mute(request, used, used_ms)
            return used_ms
        if worked_ms:
            self._mute(request, self.quotas.request.accounts, worked_ms)
        return worked_ms

    def _mute(self, request: Request, accounts: Accounts[Any], wait_ms: int) -> None:
        connection, now_ms = request.connection, self.quotas.now_ms()
        account = accounts.of(connection.principal.name, request.client_id, now_ms)
        account.waited.record(wait_ms, now_ms)
        accounts.waiting += 1
        request.stamps.throttled_s = wait_ms / 1000
        connection.mute(MuteReason.THROTTLED)
        self._timers.at(
            trio.current_time() + wait_ms / 1000, partial(_unmute, connection, accounts)
        )


_MOST_BYTES: Final = (1 << 31) - 1
_SEND_S: Final = 0.002  # more than a turn of the loop is not work: the peer was waited for


def _worked_s(request: Request, now: float) -> float:
    """The handler's own time until now, or until it was parked."""
    stamps = request.stamps
    return max((stamps.handled or now) - stamps.begun, 0.0)


def _unmute(connection: ConnectionPort, accounts: Accounts[Any]) -> None:
    accounts.waiting -= 1
    if not connection.closed:
        connection.unmute(MuteReason.THROTTLED)
