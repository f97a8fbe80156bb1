"""Facts of quotas."""

from trio_kafka.introspect.facts.quotas import QuotaLimit
from trio_kafka.introspect.tree import Node
from trio_kafka.quotas.limits import ANY
from trio_kafka.quotas.quotas import (
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    Quotas,
)
from trio_kafka.quotas.usage import quota_kinds, quota_limits, quota_usage

APP = ("", "app")


def quotas() -> Quotas:
    return Quotas(lambda: 100.0, Node("n", "part"))


def test_each_kind_has_its_limits_accounts_and_throttled_connections() -> None:
    broker = quotas()
    broker.set(APP, {PRODUCER_BYTE_RATE: 10.0, REQUEST_PERCENTAGE: 5.0})
    broker.set(("", ANY), {PRODUCER_BYTE_RATE: 20.0})
    broker.produce.charge("u", "app", 1.0, broker.now_ms())
    broker.fetch.accounts.waiting = 3

    kinds = {kind.key: kind for kind in quota_kinds(broker)}
    assert [(kind.key, kind.limits, kind.accounts, kind.throttled) for kind in kinds.values()] == [
        (PRODUCER_BYTE_RATE, 2, 1, 0),
        (CONSUMER_BYTE_RATE, 0, 0, 3),
        (REQUEST_PERCENTAGE, 1, 0, 0),
        (CONTROLLER_MUTATION_RATE, 0, 0, 0),
    ]
    assert [kind.unit for kind in kinds.values()] == [
        "bytes/s",
        "bytes/s",
        "% of a thread",
        "partitions/s",
    ]


def test_limits_name_their_user_and_client_and_defaults() -> None:
    broker = quotas()
    broker.set(APP, {PRODUCER_BYTE_RATE: 10.0})
    broker.set(("user", ANY), {CONSUMER_BYTE_RATE: 20.0})

    assert list(quota_limits(broker)) == [
        QuotaLimit(key=PRODUCER_BYTE_RATE, user="", client_id="app", limit=10.0),
        QuotaLimit(key=CONSUMER_BYTE_RATE, user="user", client_id=None, limit=20.0),
    ]


def test_usage_says_for_how_long_a_client_above_its_limit_is_throttled() -> None:
    broker = quotas()
    broker.set(APP, {PRODUCER_BYTE_RATE: 10.0})
    told_ms = broker.produce.charge("", "app", 1000.0, broker.now_ms())
    broker.produce.charge("", "free", 500.0, broker.now_ms())

    usage = {fact.client_id: fact for fact in quota_usage(broker)}
    assert (usage["app"].key, usage["app"].limit) == (PRODUCER_BYTE_RATE, 10.0)
    assert usage["app"].throttle_ms == told_ms > 0
    assert usage["app"].used == 100.0  # over ten seconds
    assert (usage["free"].limit, usage["free"].throttle_ms, usage["free"].used) == (None, 0, 50.0)


def test_usage_of_changes_is_counted_in_partitions() -> None:
    broker = quotas()
    broker.set(APP, {CONTROLLER_MUTATION_RATE: 1.0})
    charge = broker.mutation.charges("", "app", strict=False)
    charge(50)

    [usage] = quota_usage(broker)
    assert (usage.key, usage.client_id, usage.limit) == (CONTROLLER_MUTATION_RATE, "app", 1.0)
    assert usage.throttle_ms > 0
    assert usage.used > 0
