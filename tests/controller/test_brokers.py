"""Brokers registered, fenced, unfenced and gone."""

import pytest
from attrs import evolve

from tests.controller.kit import broker, image_of, new_broker
from tests.metadata.kit import replay_all
from trio_kafka.controller.brokers import Heartbeat, fence, heartbeat, register
from trio_kafka.controller.decision import ControllerSettings
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import BrokerRegistration, MetadataImage
from trio_kafka.model import NO_NODE, NodeId
from trio_kafka.protocol.stored.metadata.topics import PartitionRecord, TopicRecord

ID = bytes([1] * 16)
NODE_1 = NodeId(1)
SETTINGS = ControllerSettings()


def after(image: MetadataImage, records) -> MetadataImage:
    delta = MetadataDelta(image)
    replay_all(delta, list(records))
    return delta.apply(image.offset + 1, 1, 1)


def beat(image: MetadataImage, **changes: object) -> tuple[object, MetadataImage]:
    decision = heartbeat(
        image,
        Heartbeat(**{"broker_id": NODE_1, "epoch": 10, "metadata_offset": 10, **changes}),
        SETTINGS,
    )
    return decision.result, after(image, decision.records)


def test_a_registered_broker_is_fenced_and_its_epoch_is_the_record_offset() -> None:
    image = image_of()

    decision = register(image, new_broker(), offset=42, alive=False, settings=SETTINGS)
    result = after(image, decision.records).brokers[NODE_1]

    assert decision.result == result.epoch == 42
    assert result.fenced
    assert result.endpoints == new_broker().endpoints


def test_partitions_have_no_leader_after_their_leader_registers_again() -> None:
    image = image_of(broker(1))
    partition = PartitionRecord(partition_id=0, topic_id=ID, replicas=[1], isr=[1], leader=1)
    image = after(image, [TopicRecord(name="t", topic_id=ID), partition])

    decision = register(image, new_broker(life=2), offset=42, alive=False, settings=SETTINGS)

    assert after(image, decision.records).topics["t"].partitions[0].leader == NO_NODE


def test_a_repeated_registration_of_the_same_incarnation_writes_no_records() -> None:
    image = image_of(evolve(broker(1), incarnation_id=bytes([1] * 16)))

    decision = register(image, new_broker(1, life=1), offset=42, alive=True, settings=SETTINGS)

    assert (decision.result, list(decision.records)) == (10, [])


@pytest.mark.parametrize(
    ("changes", "alive", "code"),
    [
        ({"cluster_id": "other"}, False, ErrorCode.INCONSISTENT_CLUSTER_ID),
        ({"incarnation_id": bytes([9] * 16)}, True, ErrorCode.DUPLICATE_BROKER_REGISTRATION),
        ({"incarnation_id": bytes([9] * 16), "features": {}}, False, ErrorCode.UNSUPPORTED_VERSION),
        (
            {"incarnation_id": bytes([9] * 16), "log_dirs": ()},
            False,
            ErrorCode.INVALID_REGISTRATION,
        ),
    ],
)
def test_an_invalid_or_duplicate_broker_registration_is_refused(
    changes, alive: bool, code: ErrorCode
) -> None:
    with pytest.raises(KafkaError) as caught:
        register(
            image_of(broker(1)),
            evolve(new_broker(), **changes),
            offset=42,
            alive=alive,
            settings=SETTINGS,
        )

    assert caught.value.code is code


def test_a_broker_is_unfenced_when_its_metadata_offset_reaches_its_registration() -> None:
    image = image_of(broker(1, active=False))

    behind, still = beat(image, metadata_offset=9)
    ahead, now = beat(image, metadata_offset=10)

    assert (behind.caught_up, behind.fenced, still.brokers[NODE_1].fenced) == (False, True, True)
    assert (ahead.caught_up, ahead.fenced, now.brokers[NODE_1].fenced) == (True, False, False)


def test_a_heartbeat_with_want_fence_fences_the_broker() -> None:
    answer, image = beat(image_of(broker(1)), want_fence=True)

    assert answer.fenced
    assert image.brokers[NODE_1].fenced


def test_a_controlled_shutdown_first_marks_the_broker_and_then_fences_the_broker() -> None:
    first, leaving = beat(image_of(broker(1)), want_shutdown=True)
    second, gone = beat(leaving, want_shutdown=True)
    third, _ = beat(gone, want_shutdown=True)

    assert (first.should_shut_down, leaving.brokers[NODE_1].in_controlled_shutdown) == (False, True)
    assert (second.should_shut_down, gone.brokers[NODE_1].fenced) == (True, True)
    assert third.should_shut_down


def test_a_heartbeat_with_an_old_broker_epoch_is_refused() -> None:
    with pytest.raises(KafkaError) as caught:
        beat(image_of(broker(1)), epoch=9)

    assert caught.value.code is ErrorCode.STALE_BROKER_EPOCH


def test_fencing_a_broker_without_partitions_writes_one_record() -> None:
    image = image_of(broker(1))
    registration: BrokerRegistration = image.brokers[NODE_1]

    assert len(list(fence(image, registration, SETTINGS))) == 1
