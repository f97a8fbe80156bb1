"""Facts of the quotas of a broker: limits, usage by client, and how many are throttled."""

from collections.abc import Iterator
from typing import Final

from trio_kafka.introspect.facts.quotas import QuotaKind, QuotaLimit, QuotaUsage
from trio_kafka.quotas.accounts import UNLIMITED
from trio_kafka.quotas.quotas import (
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    Quotas,
)

_UNITS: Final = {
    PRODUCER_BYTE_RATE: "bytes/s",
    CONSUMER_BYTE_RATE: "bytes/s",
    REQUEST_PERCENTAGE: "% of a thread",
    CONTROLLER_MUTATION_RATE: "partitions/s",
}


def quota_kinds(quotas: Quotas) -> list[QuotaKind]:
    """Return the kinds of quotas, with how many limits and accounts each has."""
    return [
        QuotaKind(
            key=key,
            name=accounts.name,
            unit=_UNITS[key],
            limits=len(accounts.limits),
            accounts=len(accounts),
            throttled=accounts.waiting,
        )
        for key, accounts in quotas.kinds.items()
    ]


def quota_limits(quotas: Quotas) -> Iterator[QuotaLimit]:
    """Yield all limits."""
    for key, accounts in quotas.kinds.items():
        for (user, client_id), limit in tuple(accounts.limits):
            yield QuotaLimit(key=key, user=user, client_id=client_id, limit=limit)


def quota_usage(quotas: Quotas) -> Iterator[QuotaUsage]:
    """Yield the usage of each account; each costs about 5 µs."""
    now_ms = quotas.now_ms()
    for key, client_quota in (
        (PRODUCER_BYTE_RATE, quotas.produce),
        (CONSUMER_BYTE_RATE, quotas.fetch),
        (REQUEST_PERCENTAGE, quotas.request),
    ):
        for account in client_quota.accounts:
            throttled = account.bound < UNLIMITED
            yield QuotaUsage(
                key=key,
                user=account.payer.user,
                client_id=account.payer.client_id,
                used=account.meter.measure(now_ms),
                limit=account.bound if throttled else None,
                throttle_ms=account.meter.throttle_ms(account.bound, now_ms) if throttled else 0,
            )
    for mutations in quotas.mutation.accounts:
        throttled = mutations.bound < UNLIMITED
        bucket = mutations.meter.bucket
        yield QuotaUsage(
            key=CONTROLLER_MUTATION_RATE,
            user=mutations.payer.user,
            client_id=mutations.payer.client_id,
            used=mutations.meter.rate.measure(now_ms),
            limit=mutations.bound if throttled else None,
            throttle_ms=bucket.throttle_ms(mutations.bound, now_ms) if throttled else 0,
        )
