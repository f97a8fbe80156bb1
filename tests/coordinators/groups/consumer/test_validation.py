"""Checks that no scene of heartbeats meets: requests, and offsets of old epochs."""

from typing import Any

import pytest

from tests.coordinators.groups.consumer.kit import refusal, topic_id
from trio_kafka.coordinators.groups.classic.values import GroupProtocol
from trio_kafka.coordinators.groups.consumer import validation
from trio_kafka.coordinators.groups.consumer.member import ClassicSide, Member
from trio_kafka.coordinators.groups.consumer.values import Heartbeat
from trio_kafka.coordinators.groups.offset_values import (
    PartitionOffset,
    TopicOffsets,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.model import ZERO_TOPIC_ID, TopicId

A, B = topic_id("a"), topic_id("b")
MEMBER = Member(member_id="m", epoch=10, assigned={A: {0: 5, 1: 8}}, revoking={B: {0: 7}})
CLASSIC = Member(
    member_id="m",
    epoch=10,
    assigned={A: {0: 5}},
    classic=ClassicSide(9, (GroupProtocol("range", b""),)),
)
STALE = ErrorCode.STALE_MEMBER_EPOCH
IDS = {"a": A, "b": B}


def heartbeat(**said: Any) -> Heartbeat:
    fields: dict[str, Any] = {
        "group_id": "g",
        "member_id": "m",
        "epoch": 1,
        "client_id": "",
        "client_host": "",
    }
    return Heartbeat(**fields | said)


@pytest.mark.parametrize("epoch", [1, -1])
def test_heartbeat_of_version_0_without_a_member_id_is_refused_after_the_join(epoch: int) -> None:
    with refusal(ErrorCode.INVALID_REQUEST, "MemberId can't be empty."):
        validation.check_heartbeat(heartbeat(member_id="", epoch=epoch, version=0), ["uniform"])


def test_heartbeat_with_more_topics_than_a_classic_subscription_may_have_is_refused() -> None:
    topics = ["t"] * 100_000
    validation.check_heartbeat(heartbeat(topics=topics), ["uniform"])

    with refusal(
        ErrorCode.INVALID_REQUEST,
        "SubscribedTopicNames has 100001 topics: expected at most 100000.",
    ):
        validation.check_heartbeat(heartbeat(topics=[*topics, "t"]), ["uniform"])


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("MemberId", "member_id"),
        ("GroupId", "group_id"),
        ("InstanceId", "instance_id"),
        ("RackId", "rack_id"),
    ],
)
@pytest.mark.parametrize("value", ["", " \t"])
def test_empty_ids_in_a_heartbeat_are_refused(name: str, field: str, value: str) -> None:
    with refusal(ErrorCode.INVALID_REQUEST, f"{name} can't be empty."):
        validation.check_heartbeat(heartbeat(**{field: value}), ["uniform"])


def test_valid_heartbeats_pass_validation() -> None:
    joins = {"epoch": 0, "rebalance_timeout_ms": 5, "owned": [], "version": 0, "member_id": ""}

    for said in ({}, {"epoch": -1}, {"epoch": -2, "instance_id": "i"}, {"assignor": "uniform"}):
        validation.check_heartbeat(heartbeat(**said), ["uniform"])
    validation.check_heartbeat(heartbeat(**joins, topics=[]), ["uniform"])
    validation.check_heartbeat(heartbeat(**joins, regex=""), ["uniform"])


def offsets(topic: str, *numbers: int, topic_id: TopicId = ZERO_TOPIC_ID) -> list[TopicOffsets]:
    return [
        TopicOffsets(topic, topic_id, [PartitionOffset(number, 0, -1, "") for number in numbers])
    ]


@pytest.mark.parametrize(
    ("epoch", "topics"),
    [
        (10, offsets("x", 9)),
        (8, offsets("a", 0, 1)),
        (5, offsets("a", 0)),
        (7, offsets("b", 0)),
        (7, offsets("renamed", 0, topic_id=B)),
    ],
)
def test_commit_with_an_epoch_since_the_assignment_of_the_partitions_is_accepted(
    epoch: int, topics: list[TopicOffsets]
) -> None:
    validation.check_commit(MEMBER, epoch, 9, topics, IDS.get)


@pytest.mark.parametrize(
    ("epoch", "topics", "message"),
    [
        (11, [], "Received member epoch 11 is newer than current member epoch 10."),
        (
            7,
            offsets("a", 0, 1),
            "Received member epoch 7 is older than assignment epoch 8 for partition a-1.",
        ),
        (9, offsets("a", 2), "Partition a-2 is not assigned or pending revocation for member."),
        (9, offsets("x", 0), "Partition x-0 is not assigned or pending revocation for member."),
    ],
)
def test_commit_with_another_epoch_or_partition_is_stale(
    epoch: int, topics: list[TopicOffsets], message: str
) -> None:
    with refusal(STALE, message):
        validation.check_commit(MEMBER, epoch, 9, topics, IDS.get)


def test_wrong_epoch_of_a_classic_member_is_an_illegal_generation() -> None:
    message = "Received generation id 11 is newer than current member epoch 10."

    with refusal(ErrorCode.ILLEGAL_GENERATION, message):
        validation.check_commit(CLASSIC, 11, 2, [], IDS.get)
    with refusal(
        ErrorCode.ILLEGAL_GENERATION,
        "The received generation id 9 does not match the expected member epoch 10.",
    ):
        validation.check_epoch(CLASSIC, 9)
    validation.check_epoch(CLASSIC, 10)


def test_commit_of_a_kip_848_member_in_an_old_version_is_refused() -> None:
    with refusal(ErrorCode.UNSUPPORTED_VERSION):
        validation.check_commit(MEMBER, 10, 8, [], IDS.get)


def test_offset_fetch_with_an_old_member_epoch_is_stale() -> None:
    message = "The received member epoch 9 does not match the expected member epoch 10."

    with refusal(STALE, message):
        validation.check_epoch(MEMBER, 9)
