"""Subscriptions and assignments inside the classic protocol."""

import pytest

from tests.coordinators.groups.consumer.kit import Scene, topic_id
from trio_kafka.coordinators.groups.consumer.embedded_protocol import (
    assigned_partitions,
    owned_partitions,
    read_assignment,
    read_subscription,
    write_assignment,
)
from trio_kafka.coordinators.groups.consumer.values import OwnedTopic
from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.stored.consumer_protocol import (
    ConsumerProtocolSubscription,
    OwnedPartitions,
)
from trio_kafka.protocol.stored.consumer_protocol_version import version_of

A, B = topic_id("a"), topic_id("b")
IMAGE = Scene({"a": 3, "b": 1}).image
SUBSCRIPTION = ConsumerProtocolSubscription(
    topics=["a"],
    user_data=b"x",
    owned_partitions=[OwnedPartitions("a", [1]), OwnedPartitions("gone", [0])],
    generation_id=4,
    rack_id="r",
)


@pytest.mark.parametrize("version", range(4))
def test_subscription_is_decoded_in_each_version(version: int) -> None:
    body = to_bytes(SUBSCRIPTION, version)

    subscription = read_subscription(version.to_bytes(2) + body)

    assert (subscription.topics, subscription.user_data) == (["a"], b"x")
    assert subscription.rack_id == ("r" if version >= 3 else None)
    assert owned_partitions(subscription, IMAGE) == ([OwnedTopic(A, [1])] if version else [])


def test_newer_version_of_a_subscription_is_decoded_as_the_newest_known_version() -> None:
    data = (9).to_bytes(2) + to_bytes(SUBSCRIPTION, 3) + b"more"

    assert version_of(data) == 3
    assert read_subscription(data) == SUBSCRIPTION


@pytest.mark.parametrize("data", [b"", b"\x00", b"\xff\xff", b"\x00\x00\x00"])
def test_malformed_subscription_or_assignment_raises_a_decode_error(data: bytes) -> None:
    for read in (read_subscription, read_assignment):
        with pytest.raises(DecodeError):
            read(data)


@pytest.mark.parametrize("version", range(4))
def test_assignment_is_encoded_and_decoded_with_topic_names(version: int) -> None:
    gone = topic_id("gone")

    data = write_assignment({A: {2, 0}, gone: {1}, B: {0}}, version, IMAGE)

    assert version_of(data) == version
    assignment = read_assignment(data)
    assert {
        partition.topic: partition.partitions for partition in assignment.assigned_partitions
    } == {
        "a": [0, 2],
        "b": [0],
    }
    assert assigned_partitions(assignment, IMAGE) == {A: {0, 2}, B: {0}}
    assert assigned_partitions(assignment, Scene({"b": 1}).image) == {B: {0}}
