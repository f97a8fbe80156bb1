"""All kinds together: by key, and whether anybody is limited."""

from trio_kafka.config.unsupported import tables
from trio_kafka.introspect.tree import Node
from trio_kafka.quotas import quotas as module
from trio_kafka.quotas.accounts import IDLE_MS
from trio_kafka.quotas.quotas import (
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    Quotas,
)

APP = ("", "app")


def quotas(now_s: float = 0.0) -> Quotas:
    return Quotas(lambda: now_s, Node("n", "part"))


def test_each_quota_key_limits_its_own_quota_type() -> None:
    broker_quotas = quotas()
    broker_quotas.set(
        APP,
        {
            PRODUCER_BYTE_RATE: 1.0,
            CONSUMER_BYTE_RATE: 2.0,
            REQUEST_PERCENTAGE: 3.0,
            CONTROLLER_MUTATION_RATE: 4.0,
            "of another kind": 5.0,
        },
    )
    kinds = (
        broker_quotas.produce,
        broker_quotas.fetch,
        broker_quotas.request,
        broker_quotas.mutation,
    )
    assert [kind.accounts.of("u", "app", 0).bound for kind in kinds] == [1.0, 2.0, 3.0, 4.0]


def test_quota_key_missing_from_a_new_value_is_removed() -> None:
    broker_quotas = quotas()
    broker_quotas.set(APP, {PRODUCER_BYTE_RATE: 1.0, CONSUMER_BYTE_RATE: 2.0})
    broker_quotas.set(APP, {CONSUMER_BYTE_RATE: 2.0})
    assert not broker_quotas.produce.accounts.active
    assert broker_quotas.fetch.accounts.active


def test_toggle_callback_runs_for_the_first_quota_and_after_the_last_quota() -> None:
    broker_quotas, toggles = quotas(), []
    broker_quotas.on_toggle(lambda: toggles.append(broker_quotas.active))

    broker_quotas.set(APP, {PRODUCER_BYTE_RATE: 1.0})
    broker_quotas.set(("", "other"), {REQUEST_PERCENTAGE: 1.0})
    broker_quotas.set(APP, {})
    broker_quotas.set(("", "other"), {})

    assert toggles == [True, False]


def test_request_quota_throttles_for_at_most_a_window() -> None:
    broker_quotas = quotas()
    broker_quotas.set(APP, {REQUEST_PERCENTAGE: 1.0, PRODUCER_BYTE_RATE: 1.0})
    assert broker_quotas.request.charge("u", "app", 1e9, 0) == 1000
    assert broker_quotas.produce.charge("u", "app", 1e6, 0) > 1000


def test_quota_time_is_in_whole_milliseconds() -> None:
    assert quotas(1.2349).now_ms() == 1234


def test_idle_accounts_are_removed_by_expire() -> None:
    now_s = 0.0
    broker_quotas = Quotas(lambda: now_s, Node("n", "part"))
    broker_quotas.set(APP, {PRODUCER_BYTE_RATE: 1.0})
    broker_quotas.produce.charge("u", "app", 1, 0)
    assert broker_quotas.expire()
    now_s = IDLE_MS / 1000
    assert not broker_quotas.expire()


def test_quota_keys_are_the_keys_of_kafka() -> None:
    names = {name for table in tables() if table.title.startswith("Quotas") for name in table.names}
    ours = {
        value for name, value in vars(module).items() if name.endswith(("_RATE", "_PERCENTAGE"))
    }
    assert ours == names
