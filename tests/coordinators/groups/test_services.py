"""Requests as handlers make them: what never reaches a shard, and how answers are made."""

from typing import Any

import pytest
from attrs import define
from trio.testing import MockClock

from tests.apis.kit import broker
from tests.coordinators.groups.consumer.kit import Scene, WaitingSearches, refusal
from trio_kafka.coordinators.groups.classic.values import (
    ClassicHeartbeat,
    GroupProtocol,
    Join,
    JoinAnswer,
    Sync,
)
from trio_kafka.coordinators.groups.consumer.submachine import ConsumerGroups
from trio_kafka.coordinators.groups.consumer.values import Heartbeat
from trio_kafka.coordinators.groups.offset_values import (
    Commit,
    FetchOffsets,
    PartitionOffset,
    TopicOffsets,
    TopicPartitions,
)
from trio_kafka.coordinators.groups.services import ConsumerService
from trio_kafka.coordinators.groups.settings import GroupSettings
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.model import ZERO_TOPIC_ID

TOPIC_PARTITIONS = TopicPartitions("t", ZERO_TOPIC_ID, [0])


# Classic groups


def joining(session_timeout_ms: int = 10_000) -> Join:
    return Join(
        member_id="me",
        client_id="c",
        client_host="/h",
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=1000,
        protocol_type="consumer",
        protocols=(GroupProtocol("range", b""),),
        fresh="0",
    )


@pytest.mark.parametrize(
    ("group", "session_ms", "code"),
    [
        ("", 0, ErrorCode.INVALID_GROUP_ID),
        ("g", 6999, ErrorCode.INVALID_SESSION_TIMEOUT),
        ("g", 8001, ErrorCode.INVALID_SESSION_TIMEOUT),
    ],
)
async def test_join_with_a_session_timeout_outside_the_broker_bounds_is_refused(
    autojump_clock: MockClock, group: str, session_ms: int, code: ErrorCode
) -> None:
    """They are looked at before anybody asks where the group is."""
    settings = {"group.min.session.timeout.ms": "7000", "group.max.session.timeout.ms": "8000"}
    async with broker(settings) as served:
        result = served.broker.groups.classic.join(group, joining(session_ms))

        assert result == JoinAnswer(member_id="me", error=code)
        for fits in (7000, 8000):
            elsewhere = served.broker.groups.classic.join("g", joining(fits))
            assert elsewhere.code is ErrorCode.NOT_COORDINATOR


async def test_classic_requests_return_errors_as_answers(autojump_clock: MockClock) -> None:
    async with broker() as served:
        classic = served.broker.groups.classic
        syncing = Sync(member_id="me", generation=1)
        beating = ClassicHeartbeat("me", None, 1)
        answers = [
            answer
            for group in ("", "g")
            for answer in (
                classic.sync(group, syncing),
                classic.heartbeat(group, beating),
                classic.leave(group, []),
                classic.describe([group])[0],
            )
        ]

    invalid, elsewhere = ErrorCode.INVALID_GROUP_ID, ErrorCode.NOT_COORDINATOR
    # An empty id may be described: old clients commit under it.
    codes = [error.code for error in answers]
    assert codes == [invalid, invalid, invalid, elsewhere] + 4 * [elsewhere]


# Offsets


def commit_of(group: str, offset: int) -> Commit:
    row = PartitionOffset(0, offset, -1, "m")
    return Commit(group_id=group, topics=[TopicOffsets("t", ZERO_TOPIC_ID, [row])])


async def test_each_group_has_its_own_offsets(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.serve_groups("a", "b")
        offsets = served.broker.groups.offsets
        assert offsets.commit(commit_of("a", 7)) == [0]
        assert offsets.commit(commit_of("b", 8)) == [0]
        assert offsets.delete("a", [TOPIC_PARTITIONS]) == [0]

        fetch_offsets = [
            FetchOffsets(group_id=group, topics=[TOPIC_PARTITIONS]) for group in ("a", "b")
        ]
        answers = offsets.fetch(fetch_offsets)

    assert [[partition.offset for partition in topic.partitions] for (topic,) in answers] == [
        [-1],
        [8],
    ]


async def test_error_of_a_group_does_not_affect_answers_of_other_groups(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.serve_groups("a")
        groups = served.broker.groups
        groups.runtime.shards.pop(groups.topic.partition_of("b"))
        fetch_offsets = [
            FetchOffsets(group_id=group, topics=[TOPIC_PARTITIONS]) for group in ("a", "b")
        ]
        topics, error = groups.offsets.fetch(fetch_offsets)

        assert topics[0].partitions[0].offset == -1
        assert error.code is ErrorCode.NOT_COORDINATOR
        refused = groups.offsets.commit(commit_of("b", 7))
        assert isinstance(refused, KafkaError)
        assert refused.code is ErrorCode.NOT_COORDINATOR
        groups.runtime.shards.clear()


async def test_deleting_offsets_with_an_empty_group_id_is_refused(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        with pytest.raises(KafkaError, match="INVALID_GROUP_ID"):
            served.broker.groups.offsets.delete("", [TOPIC_PARTITIONS])


# Consumer groups


@define
class Coordinator:
    """Answers at once, from one shard."""

    scene: Scene

    def ask(self, key: str, event: Any, wait: str) -> Any:
        assert (key, wait) == ("g", "ConsumerGroupHeartbeat")
        return self.scene.driver.ask(event)


def service(level: int, *protocols: str) -> ConsumerService:
    image = MetadataImage(features={"group.version": level})
    settings = GroupSettings(protocols=protocols, consumer_assignors=("range",))
    coordinator: Any = Coordinator(Scene({"a": 1}))
    served = ConsumerService(
        coordinator,
        settings,
        random_bytes=lambda size: b"\xff" * size,
        searches=WaitingSearches(),
    )
    served.follow(image)
    return served


def new_heartbeat(member_id: str, **said: Any) -> Heartbeat:
    return Heartbeat(
        group_id="g",
        member_id=member_id,
        epoch=0,
        client_id="c",
        client_host="h",
        rebalance_timeout_ms=5,
        topics=["a"],
        owned=[],
        **said,
    )


def test_member_without_an_id_gets_an_id_of_22_characters() -> None:
    answer = service(1, "consumer").heartbeat(new_heartbeat("", version=0))

    assert answer.member_id == "_" * 21 + "w"


def test_consumer_groups_are_served_only_with_the_feature_and_the_setting() -> None:
    assert service(1, "classic", "consumer").is_served
    assert not service(0, "classic", "consumer").is_served
    assert not service(1, "classic").is_served
    with refusal(ErrorCode.UNSUPPORTED_VERSION):
        service(0, "consumer").heartbeat(new_heartbeat("m"))
    (error,) = service(0, "consumer").describe(["g"])
    assert isinstance(error, KafkaError)


def test_heartbeat_with_an_unsupported_assignor_is_refused() -> None:
    with refusal(ErrorCode.UNSUPPORTED_ASSIGNOR):
        service(1, "consumer").heartbeat(new_heartbeat("m", assignor="uniform"))
    answer = service(1, "consumer").heartbeat(new_heartbeat("m", assignor="range"))
    assert answer.member_id == "m"


def test_shards_share_the_assignors_of_the_service() -> None:
    consumer_service = service(1, "consumer")

    result = consumer_service.submachine(Scene().driver.machine)

    assert isinstance(result, ConsumerGroups)
    assert result.state.assignors is consumer_service.assignors
    assert consumer_service.assignors.names == ("range",)
