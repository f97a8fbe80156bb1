"""Throttle times of a client, computed by hand."""

import pytest

from trio_kafka.introspect.tree import Node
from trio_kafka.quotas.accounts import UNLIMITED
from trio_kafka.quotas.client import ClientQuota, Windows


def quota(windows: Windows = Windows(), **options: int) -> ClientQuota:  # noqa: B008 - a value
    client_quota = ClientQuota(
        "Produce",
        measure="byte-rate",
        windows=windows,
        node=Node("n", "part"),
        now_ms=lambda: 0,
        **options,
    )
    client_quota.accounts.set(("", "app"), 1000.0)
    return client_quota


def test_client_above_its_quota_is_throttled_until_its_values_are_old() -> None:
    produce = quota()
    assert produce.charge("u", "app", 10_000, 0) == 0  # 1000 a second over ten
    assert produce.charge("u", "app", 5000, 0) == 5000
    assert produce.charge("u", "app", 0, 5000) == 5000  # 15,000 over 10 s, still
    assert produce.charge("u", "app", 0, 11_000) == 0  # they are old


def test_quota_uses_the_configured_windows() -> None:
    produce = quota(Windows(3, 2000))
    assert produce.charge("u", "app", 4000, 0) == 0
    assert produce.charge("u", "app", 2000, 0) == 2000


def test_client_without_a_quota_is_never_throttled() -> None:
    produce = quota()
    assert produce.charge("u", "other", 1e15, 0) == 0


def test_throttle_time_is_cut_off_at_its_maximum() -> None:
    assert quota(most_ms=1000).charge("u", "app", 1e9, 0) == 1000


def test_noted_value_counts_in_the_next_charge() -> None:
    produce = quota()
    produce.note("u", "app", 15_000, 0)
    assert produce.charge("u", "app", 0, 0) == 5000
    produce.note("u", "app", -15_000, 0)
    assert produce.charge("u", "app", 0, 0) == 0


def test_largest_single_charge_is_the_quota_over_its_windows() -> None:
    produce = quota()
    assert produce.most_at_once("u", "app", 0) == 10_000
    assert produce.charge("u", "app", 10_000, 0) == 0
    assert quota(Windows(3, 2000)).most_at_once("u", "app", 0) == 4000
    assert produce.most_at_once("u", "other", 0) == UNLIMITED


def test_figures_of_a_client_quota_have_the_names_of_kafkas_metrics() -> None:
    produce = quota()
    produce.charge("u", "app", 5000, 0)
    produce.accounts.of("u", "app", 0).waited.record(40, 0)
    produce.accounts.of("u", "app", 0).waited.record(60, 0)
    (account,) = produce.accounts
    ((node,),) = [root.children for root in [produce.accounts.node]]
    assert account.payer.client_id == "app"
    assert node.figures() == {
        "byte-rate": 500.0,
        "throttle-time": pytest.approx(50),
        "limit": 1000.0,
    }
