"""Topics created, grown and deleted."""

from random import Random

import pytest

from tests.controller.kit import broker, image_of, validate
from tests.metadata.kit import replay_all
from trio_kafka.controller.decision import ControllerSettings
from trio_kafka.controller.topics import (
    MOST_PARTITIONS,
    CreatedTopic,
    NewPartitions,
    NewTopic,
    Randomness,
    create_partitions,
    create_topic,
    delete_topic,
    new_topic_id,
)
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import UNASSIGNED_DIRECTORY, MetadataImage

THREE = image_of(broker(1), broker(2), broker(3))


def create(
    image: MetadataImage, topic: NewTopic, settings: ControllerSettings | None = None
) -> tuple[CreatedTopic, MetadataImage]:
    random = Random(5)
    decision = create_topic(
        image,
        {},
        topic,
        settings=settings or ControllerSettings(),
        validate=validate,
        randomness=Randomness(choose=random.randrange, random_bytes=random.randbytes),
    )
    delta = MetadataDelta(image)
    replay_all(delta, decision.records)
    return decision.result, delta.apply(100, 1, 1)


def test_partitions_and_replication_of_a_new_topic_default_to_the_settings() -> None:
    settings = ControllerSettings(num_partitions=4, default_replication_factor=2)

    created, image = create(THREE, NewTopic(name="t"), settings)

    assert (created.partitions, created.replication_factor) == (4, 2)
    assert all(len(state.replicas) == 2 for state in image.topics["t"].partitions.values())


def test_given_assignments_are_kept_and_an_active_broker_is_the_leader() -> None:
    image = image_of(broker(1, active=False), broker(2))

    _, after = create(image, NewTopic(name="t", assignments={0: [1, 2], 1: [2, 1]}))

    first = after.topics["t"].partitions[0]
    assert (first.replicas, first.isr, first.leader) == ((1, 2), (2,), 2)
    assert first.directories == (bytes([1] * 16), bytes([2] * 16))
    assert (first.leader_epoch, first.partition_epoch) == (0, 0)


def test_a_replica_on_a_broker_with_several_directories_is_unassigned() -> None:
    from attrs import evolve

    image = image_of(evolve(broker(1), log_dirs=(bytes([7] * 16), bytes([8] * 16))))

    _, after = create(image, NewTopic(name="t"))

    assert after.topics["t"].partitions[0].directories == (UNASSIGNED_DIRECTORY,)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"partitions": 0}, ErrorCode.INVALID_PARTITIONS),
        ({"partitions": -2}, ErrorCode.INVALID_PARTITIONS),
        ({"partitions": 10_001}, ErrorCode.POLICY_VIOLATION),
        ({"replication_factor": 0}, ErrorCode.INVALID_REPLICATION_FACTOR),
        ({"partitions": 0, "replication_factor": -2}, ErrorCode.INVALID_REPLICATION_FACTOR),
        ({"partitions": 10_001, "replication_factor": 0}, ErrorCode.INVALID_REPLICATION_FACTOR),
        ({"replication_factor": 4}, ErrorCode.INVALID_REPLICATION_FACTOR),
        ({"assignments": {0: [1]}, "partitions": 1}, ErrorCode.INVALID_REQUEST),
        ({"assignments": {0: [1]}, "replication_factor": 1}, ErrorCode.INVALID_REQUEST),
        ({"assignments": {1: [1]}}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ({"assignments": {0: []}}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ({"assignments": {0: [1, 1]}}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ({"assignments": {0: [9]}}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ({"assignments": {0: [1], 1: [1, 2]}}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ({"configs": {"a": "bad"}}, ErrorCode.INVALID_CONFIG),
        ({"name": "a/b"}, ErrorCode.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_invalid_new_topics_are_refused_with_the_error_code(changes: dict, code: ErrorCode) -> None:
    with pytest.raises(KafkaError) as caught:
        create(THREE, NewTopic(**{"name": "t", **changes}))

    assert caught.value.code is code


def test_no_topic_is_created_when_all_brokers_are_fenced() -> None:
    image = image_of(broker(1, active=False))
    for topic, code in (
        (NewTopic(name="t"), ErrorCode.INVALID_REPLICATION_FACTOR),
        (NewTopic(name="t", assignments={0: [1]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ):
        with pytest.raises(KafkaError) as caught:
            create(image, topic)
        assert caught.value.code is code


def test_new_partitions_are_numbered_after_the_last_partition() -> None:
    _, image = create(THREE, NewTopic(name="t", partitions=2, replication_factor=2))

    decision = create_partitions(image, "t", NewPartitions(5), choose=Random(1).randrange)

    assert [record.partition_id for record in decision.records] == [2, 3, 4]
    assert all(len(record.replicas) == 2 for record in decision.records)


@pytest.mark.parametrize(
    ("name", "count", "assignments", "code"),
    [
        ("z", 5, None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("t", 1, None, ErrorCode.INVALID_PARTITIONS),
        ("t", 0, None, ErrorCode.INVALID_PARTITIONS),
        ("t", -1, None, ErrorCode.INVALID_PARTITIONS),
        ("t", 1, [], ErrorCode.INVALID_PARTITIONS),
        ("t", 2, [[1], [2]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("t", 2, [], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("t", 2, [[]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("t", 2, [[9]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("t", 2, [[1, 2]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("t", 3, [[1], [1, 1]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("t", 2 + MOST_PARTITIONS, None, ErrorCode.POLICY_VIOLATION),
        ("t", 2**31 - 1, None, ErrorCode.POLICY_VIOLATION),
    ],
)
def test_invalid_partition_counts_or_assignments_are_refused(
    name, count, assignments, code: ErrorCode
) -> None:
    _, image = create(THREE, NewTopic(name="t"))

    with pytest.raises(KafkaError) as caught:
        create_partitions(
            image, name, NewPartitions(count, assignments), choose=Random(1).randrange
        )

    assert caught.value.code is code


def test_deleting_a_topic_is_refused_when_deletion_is_disabled() -> None:
    created, image = create(THREE, NewTopic(name="t"))

    with pytest.raises(KafkaError) as caught:
        delete_topic(image, created.id, settings=ControllerSettings(delete_topic_enable=False))

    assert caught.value.code is ErrorCode.TOPIC_DELETION_DISABLED


def test_topic_ids_are_random_uuids_whose_text_never_begins_with_a_dash() -> None:
    random = Random(1)
    result = {new_topic_id(random.randbytes) for _ in range(500)}

    assert len(result) == 500
    assert all(
        topic_id[0] >> 2 != 62 and topic_id[6] >> 4 == 4 and topic_id[8] >> 6 == 2
        for topic_id in result
    )


def test_a_topic_id_whose_text_would_begin_with_a_dash_is_drawn_again() -> None:
    drawn = iter([b"\xfb" + bytes(15), bytes([1] * 16)])

    assert new_topic_id(lambda _: next(drawn))[0] == 1
