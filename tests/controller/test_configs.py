"""Settings of resources."""

import pytest
from attrs import evolve

from tests.controller.kit import LISTS, broker, image_of, validate
from trio_kafka.controller.configs import (
    ConfigChange,
    Operation,
    alter_configs,
    config_records,
    new_topic_configs,
    set_configs,
)
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.image import MetadataImage, TopicImage
from trio_kafka.model import TopicId
from trio_kafka.protocol.stored.metadata.configs import ConfigRecord
from trio_kafka.protocol.stored.metadata.topics import ClearElrRecord

T = (2, "t")


def image(**values: str) -> MetadataImage:
    made = image_of(broker(1))
    topic = TopicImage(name="t", id=TopicId(bytes(16)), partitions={})
    settings = {name.replace("_", "."): value for name, value in values.items()}
    return evolve(
        made,
        topics=made.topics.changed({"t": topic}),
        configs=made.configs.changed({T: settings or None}),
    )


def changed(records) -> dict[str, str | None]:
    return {record.name: record.value for record in records if isinstance(record, ConfigRecord)}


def test_setting_all_takes_away_what_is_not_named() -> None:
    made = set_configs(image(a="1", b="2"), T, {"b": "2", "c": "3"}, validate)

    assert changed(made.records) == {"a": None, "c": "3"}


def test_single_changes_leave_the_rest() -> None:
    changes = [
        ConfigChange("a", Operation.DELETE),
        ConfigChange("c", Operation.SET, "3"),
        ConfigChange("b", Operation.SET, "2"),
    ]

    made = alter_configs(image(a="1", b="2"), T, changes, validate, LISTS)

    assert changed(made.records) == {"a": None, "c": "3"}


@pytest.mark.parametrize(
    ("operation", "value", "result"),
    [
        (Operation.APPEND, "compact", "delete,compact"),
        (Operation.APPEND, "delete", None),
        (Operation.SUBTRACT, "delete", ""),
        (Operation.SUBTRACT, "other", None),
    ],
)
def test_lists_are_changed_item_by_item(
    operation: Operation, value: str, result: str | None
) -> None:
    change = ConfigChange("cleanup.policy", operation, value)

    made = alter_configs(image(cleanup_policy="delete"), T, [change], validate, LISTS)

    assert changed(made.records) == ({} if result is None else {"cleanup.policy": result})


@pytest.mark.parametrize(
    ("resource", "changes", "code"),
    [
        ((2, "z"), [], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ((4, "7"), [], ErrorCode.INVALID_REQUEST),
        ((4, "x"), [], ErrorCode.INVALID_REQUEST),
        ((9, "x"), [], ErrorCode.INVALID_REQUEST),
        (T, [ConfigChange("a", Operation.APPEND, "x")], ErrorCode.INVALID_CONFIG),
        (T, [ConfigChange("a", Operation.SET, "bad")], ErrorCode.INVALID_CONFIG),
        (T, [ConfigChange("a", Operation.SET, None)], ErrorCode.INVALID_CONFIG),
        (T, [ConfigChange("a", Operation.DELETE)] * 2, ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_cannot_be_is_refused(resource, changes, code: ErrorCode) -> None:
    with pytest.raises(KafkaError) as caught:
        alter_configs(image(), resource, changes, validate, LISTS)

    assert caught.value.code is code


def test_a_new_min_insync_replicas_clears_who_was_eligible() -> None:
    topic = config_records(image(), T, {"min.insync.replicas": "2"})
    cluster = config_records(image(), (4, ""), {"min.insync.replicas": "2"})
    node = config_records(image(), (4, "1"), {"min.insync.replicas": "2"})

    assert topic[-1] == ClearElrRecord(topic_name="t")
    assert cluster[-1] == ClearElrRecord()
    assert len(node) == 1


def test_a_new_topics_settings_have_values() -> None:
    assert new_topic_configs("t", {"a": "1"}, validate) == {"a": "1"}
    with pytest.raises(KafkaError):
        new_topic_configs("t", {"a": None}, validate)
