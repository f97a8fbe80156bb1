"""The metadata cache: ages, back-off, epochs, hints, topics that were created again."""

import pytest

from trio_kafka.clients.metadata.cache import MetadataCache, usable
from trio_kafka.clients.metadata.values import PartitionLeader
from trio_kafka.errors import ErrorCode
from trio_kafka.model import Endpoint
from trio_kafka.peers.backoff import Backoff
from trio_kafka.protocol.messages.k03_metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

ID = bytes(15) + b"\1"
OTHER_ID = bytes(15) + b"\2"
NEVER = float("inf")


def answer(*leaders, topic_id=ID, error=0, name="t", brokers=(1, 2), partition_error=0):
    """An answer for a topic with the leader and the epoch of each partition."""
    partitions = [
        MetadataResponsePartition(partition_error, n, node, epoch, [node], [node], [])
        for n, (node, epoch) in enumerate(leaders)
    ]
    return MetadataResponse(
        brokers=[MetadataResponseBroker(n, f"b{n}", 9092, f"r{n}") for n in brokers],
        topics=[MetadataResponseTopic(error, name, topic_id, partitions=partitions)],
    )


def cache_with(*leaders, **fields):
    cache = MetadataCache(max_age_s=300.0, backoff=Backoff(1.0, 8.0), **fields)
    cache.use("t", 0.0)
    cache.request(0.0)
    cache.update(answer(*leaders), 0.0, 0.5)
    return cache


def test_cache_without_topics_is_never_due():
    assert MetadataCache().due() == NEVER


def test_new_topic_is_due_at_once_and_then_by_its_age():
    cache = MetadataCache(max_age_s=300.0, backoff=Backoff(1.0, 8.0))

    assert cache.use("t", 10.0) is None
    assert cache.due() < 10.0
    assert [topic.name for topic in cache.request(10.0).topics or []] == ["t"]
    cache.update(answer((1, 5)), 10.0, 0.5)

    topic = cache.use("t", 11.0)
    assert topic is not None
    assert (topic.topic_id, topic.updated) == (ID, 10.0)
    assert cache.due() == 310.0
    assert cache.leader("t", 0) == PartitionLeader(1, 5, (1,))
    assert cache.name_of(ID) == "t"


def test_topic_that_is_new_while_a_request_is_in_flight_is_due_after_its_answer():
    cache = cache_with((1, 5))

    cache.use("second", 1.0)
    cache.request(1.0)
    cache.use("third", 1.0)
    cache.update(answer((1, 5)), 1.0, 0.5)
    assert cache.is_stale
    assert cache.due() < 1.0

    cache.request(1.0)
    cache.update(answer((1, 5)), 1.0, 0.5)
    assert not cache.is_stale


def test_new_topic_is_due_at_once_but_after_a_failure_it_waits_for_the_backoff():
    cache = cache_with((1, 5))
    cache.failed(1.0, 0.5)

    cache.use("second", 1.0)
    assert cache.due() < 1.0
    cache.failed(1.0, 0.5)
    assert cache.due() > 1.0


def test_new_topic_that_is_forgotten_is_not_asked_for():
    cache = cache_with((1, 5))

    cache.use("second", 1.0)
    cache.forget("second")
    cache.update(answer((1, 5)), 1.0, 0.5)

    assert not cache.is_stale


def test_requested_refreshes_wait_for_the_backoff():
    cache = cache_with((1, 5))

    cache.request_refresh()
    assert cache.is_stale
    assert cache.due() == pytest.approx(1.0)


def test_backoff_doubles_with_each_failure_and_begins_again_after_an_answer():
    cache = cache_with((1, 5))
    pauses = []
    for _ in range(5):
        cache.failed(100.0, 0.5)
        pauses.append(cache.due() - 100.0)
    assert pauses == pytest.approx([2.0, 4.0, 8.0, 8.0, 8.0])

    cache.update(answer((1, 5)), 200.0, 0.5)
    cache.request_refresh()
    assert cache.due() == pytest.approx(201.0)


def test_older_leader_epoch_does_not_replace_a_newer_one():
    cache = cache_with((1, 5), (2, 5))

    cache.update(answer((2, 4), (1, 6)), 1.0, 0.5)

    assert cache.leader("t", 0) == PartitionLeader(1, 5, (1,))
    assert cache.leader("t", 1) == PartitionLeader(1, 6, (1,))


def test_epochs_of_a_topic_that_was_created_again_begin_anew():
    cache = cache_with((1, 5))

    cache.update(answer((2, 0), topic_id=OTHER_ID), 1.0, 0.5)

    assert cache.leader("t", 0) == PartitionLeader(2, 0, (2,))
    assert cache.name_of(ID) is None
    assert cache.name_of(OTHER_ID) == "t"


def test_leader_without_an_address_is_not_known():
    cache = cache_with((3, 5), (-1, 5))

    assert cache.leader("t", 0) is None
    assert cache.leader("t", 1) is None
    assert cache.leader("t", 9) is None
    assert cache.leader("u", 0) is None


@pytest.mark.parametrize(
    ("incomplete", "is_due"),
    [
        (answer(error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), True),
        (answer(error=ErrorCode.LEADER_NOT_AVAILABLE), True),
        (answer((1, 5), (-1, 5)), True),
        (answer((1, 5), partition_error=ErrorCode.LISTENER_NOT_FOUND), True),
        (answer(error=ErrorCode.TOPIC_AUTHORIZATION_FAILED), False),
        (answer(error=ErrorCode.INVALID_TOPIC_EXCEPTION), False),
    ],
    ids=["missing", "without leaders", "one leader", "listener", "denied", "invalid"],
)
def test_followed_topic_is_asked_for_again_after_the_backoff_if_its_error_may_pass(
    incomplete, is_due
):
    cache = cache_with((1, 5), (1, 5))
    cache.follow("subscription", ["t"], 1.0)
    assert not cache.is_stale

    pauses = []
    for _ in range(5):
        cache.update(incomplete, 100.0, 0.5)
        pauses.append(cache.due() - 100.0)

    assert pauses == pytest.approx([2.0, 4.0, 8.0, 8.0, 8.0] if is_due else [300.0] * 5)
    cache.update(answer((1, 5), (1, 5)), 200.0, 0.5)
    assert not cache.is_stale


def test_topic_that_is_followed_no_more_or_was_used_by_a_call_is_asked_for_at_its_age():
    missing = answer(error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    cache = cache_with((1, 5))
    cache.update(missing, 1.0, 0.5)
    assert not cache.is_stale

    cache.follow("subscription", ["t"], 1.0)
    assert cache.is_stale
    cache.follow("subscription", ["u"], 1.0)
    cache.request(1.0)
    cache.update(missing, 1.0, 0.5)
    assert not cache.is_stale


def test_topic_of_a_producer_is_followed_until_it_is_idle():
    cache = cache_with((1, 5), idle_s=60.0)

    cache.update(answer((-1, 6)), 1.0, 0.5)
    assert cache.is_stale
    cache.request(100.0)
    cache.update(answer((-1, 6)), 100.0, 0.5)
    assert not cache.is_stale


def test_error_of_a_topic_keeps_the_leaders_of_an_older_answer():
    cache = cache_with((1, 5))

    cache.update(answer(error=ErrorCode.LEADER_NOT_AVAILABLE), 1.0, 0.5)
    assert cache.use("t", 1.0) is None
    assert cache.leader("t", 0) is not None

    cache.update(answer(error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), 2.0, 0.5)
    assert cache.leader("t", 0) is None


def test_hint_of_a_newer_leader_replaces_the_old_one_with_its_address():
    cache = cache_with((1, 5))
    hint = PartitionLeader(3, 6)

    assert not cache.hint("t", 0, PartitionLeader(2, 5), brokers={})
    assert not cache.hint("t", 0, hint, brokers={})
    assert not cache.hint("u", 0, hint, brokers={3: Endpoint("b3", 1)})
    assert cache.hint("t", 0, hint, brokers={3: Endpoint("b3", 1)})

    assert cache.leader("t", 0) == PartitionLeader(3, 6, (1,))
    assert cache.brokers[3].endpoint == Endpoint("b3", 1)


def test_idle_topic_is_dropped_with_the_next_request():
    cache = cache_with((1, 5), idle_s=60.0)
    cache.use("u", 100.0)

    request = cache.request(100.0)

    assert [topic.name for topic in request.topics or []] == ["u"]
    assert cache.topics == {}
    assert cache.name_of(ID) is None


def test_answer_for_a_topic_that_was_forgotten_is_discarded():
    cache = cache_with((1, 5))
    cache.forget("t")
    cache.update(answer((1, 6)), 1.0, 0.5)

    assert cache.topics == {}
    assert cache.due() == NEVER


def test_all_topics_are_asked_for_and_deleted_ones_dropped():
    cache = MetadataCache(all_topics=True)

    assert cache.request(0.0).topics is None
    cache.update(answer((1, 5)), 0.0, 0.5)
    cache.update(answer((1, 5), name="u", topic_id=OTHER_ID), 1.0, 0.5)
    assert usable(cache.topics.values()) == ["u"]


def test_missing_topics_are_created_only_if_asked_for():
    for creates in (False, True):
        cache = MetadataCache(creates_topics=creates)
        cache.use("t", 0.0)
        assert cache.request(0.0).allow_auto_topic_creation is creates
