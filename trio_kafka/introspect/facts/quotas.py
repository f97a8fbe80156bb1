"""Facts of client quotas."""

from trio_kafka.attributes import frozen


@frozen(kw_only=True)
class QuotaLimit:
    """One limit. key: its name where it is set. user, client_id: empty: the limit is not about it;
    None: the default of those without a limit of their own.
    """

    key: str
    user: str | None
    client_id: str | None
    limit: float


@frozen(kw_only=True)
class QuotaUsage:
    """Usage of clients that share a limit.

    user, client_id: empty: all of them. used: in the unit of the limit, a second. limit: None: they
    have none. throttle_ms: for how long a request that came now would be throttled.
    """

    key: str
    user: str
    client_id: str
    used: float
    limit: float | None
    throttle_ms: int


@frozen(kw_only=True)
class QuotaKind:
    """One kind of quota. throttled: connections that are not read from now because of it."""

    key: str
    name: str
    unit: str
    limits: int
    accounts: int
    throttled: int
