"""Throttled connection as data: which quota its client exceeded, by how much, and until when."""

from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.introspect.waits import Subject, Wait
from trio_kafka.network.request import Request
from trio_kafka.quotas.limits import Payer
from trio_kafka.quotas.quotas import (
    CONTROLLER_MUTATION,
    FETCH,
    PRODUCE,
    REQUEST,
    QuotaAccounts,
)

_UNITS: Final = {
    PRODUCE: "B/s",
    FETCH: "B/s",
    REQUEST: "% of a thread",
    CONTROLLER_MUTATION: "changes/s",
}


@frozen
class ThrottledRequest:
    """Request whose connection is muted until `deadline` of `trio.current_time()`."""

    request: Request
    accounts: QuotaAccounts
    deadline: float

    def wait(self, now: float, now_ms: int) -> Wait:
        """Return the wait of the connection. now_ms: on the clock of quotas."""
        connection, name = self.request.connection, self.accounts.name
        account = self.accounts.of(connection.principal.name, self.request.client_id, now_ms)
        used, unit = account.meter.measure(now_ms), _UNITS.get(name, "")
        throttled_s, left_s = self.request.stamps.throttled_s, max(self.deadline - now, 0.0)
        payer = _in_words(account.payer)
        return Wait(
            cause="quota",
            words=f"the quota {name} of {payer}: {used:,.0f} of {account.bound:,.0f} {unit} used",
            on=Subject("quota", f"{name} of {payer}"),
            needs=account.bound,
            has=used,
            unit=unit,
            age_s=max(throttled_s - left_s, 0.0),
            left_s=left_s,
            then="it is read from again",
        )


def _in_words(payer: Payer) -> str:
    """Return the clients that share a limit, in words."""
    user, client_id = payer
    parts = (f"user {user}" if user else "", f"client {client_id}" if client_id else "")
    return ", ".join(filter(None, parts)) or "all clients"
