"""Subscriptions of a cluster that match one client."""

from trio_kafka.telemetry.subscriptions import DEFAULT_INTERVAL_MS, Subscriptions

ID = b"i" * 16
LABELS = {"client_id": "orders-1", "client_software_name": "trio-kafka"}


def test_client_that_nothing_matches_pushes_nothing() -> None:
    subscription = Subscriptions({"a": {"metrics": "*", "match": "client_id=x"}}).of(ID, LABELS)

    assert (subscription.metrics, subscription.interval_ms) == ((), DEFAULT_INTERVAL_MS)


def test_matching_subscriptions_are_joined_at_the_shortest_interval() -> None:
    subscriptions = Subscriptions(
        {
            "a": {"metrics": "org.a,org.b", "interval.ms": "5000"},
            "b": {"metrics": "org.b,org.c", "interval.ms": "1000", "match": "client_id=orders-.*"},
            "c": {"metrics": "org.d", "interval.ms": "100", "match": "client_id=orders"},
        }
    )

    subscription = subscriptions.of(ID, LABELS)

    assert subscription.metrics == ("org.a", "org.b", "org.c")
    assert subscription.interval_ms == 1000


def test_all_metrics_contain_the_others() -> None:
    subscriptions = Subscriptions({"a": {"metrics": "*"}, "b": {"metrics": "org.b"}})

    assert subscriptions.of(ID, LABELS).metrics == ("*",)


def test_all_patterns_of_a_subscription_must_match() -> None:
    match = "client_id=orders-.*,client_software_name=librdkafka"

    assert Subscriptions({"a": {"metrics": "*", "match": match}}).of(ID, LABELS).metrics == ()


def test_id_changes_with_the_subscription_and_the_client() -> None:
    first = Subscriptions({"a": {"metrics": "org.a"}})
    second = Subscriptions({"a": {"metrics": "org.b"}})

    ids = {first.of(ID, LABELS).id, second.of(ID, LABELS).id, first.of(b"j" * 16, LABELS).id}

    assert len(ids) == 3
    assert all(-(1 << 31) <= number < 1 << 31 for number in ids)
    assert first.of(ID, LABELS) == Subscriptions({"a": {"metrics": "org.a"}}).of(ID, LABELS)


def test_unreadable_subscription_counts_not() -> None:
    texts = {"a": {"metrics": "*", "interval.ms": "x"}, "b": {"metrics": "org.b"}}

    assert Subscriptions(texts).of(ID, LABELS).metrics == ("org.b",)
