"""Settings of resources."""

import time

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from tests.controller.kit import broker, image_of, lists, validate
from tests.metadata.kit import replay_all
from trio_kafka.controller.configs import (
    MOST_SETTINGS,
    ConfigChange,
    Operation,
    alter_configs,
    config_records,
    elr_safety_records,
    new_topic_configs,
    set_configs,
)
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import ConfigResourceType, MetadataImage, TopicImage
from trio_kafka.model import TopicId
from trio_kafka.protocol.stored.metadata.configs import ConfigRecord
from trio_kafka.protocol.stored.metadata.topics import ClearElrRecord

T = (2, "t")


def image(**values: str) -> MetadataImage:
    base = image_of(broker(1))
    topic = TopicImage(name="t", id=TopicId(bytes(16)), partitions={})
    settings = {name.replace("_", "."): value for name, value in values.items()}
    return evolve(
        base,
        topics=base.topics.updated({"t": topic}),
        configs=base.configs.updated({T: settings or None}),
    )


def changed(records) -> dict[str, str | None]:
    return {record.name: record.value for record in records if isinstance(record, ConfigRecord)}


def test_set_configs_removes_settings_that_are_not_named() -> None:
    decision = set_configs(image(a="1", b="2"), T, {"b": "2", "c": "3"}, validate=validate)

    assert changed(decision.records) == {"a": None, "c": "3"}


def test_alter_configs_changes_only_the_named_settings() -> None:
    changes = [
        ConfigChange("a", Operation.DELETE),
        ConfigChange("c", Operation.SET, "3"),
        ConfigChange("b", Operation.SET, "2"),
    ]

    decision = alter_configs(image(a="1", b="2"), T, changes, validate=validate, lists=lists)

    assert changed(decision.records) == {"a": None, "c": "3"}


@pytest.mark.parametrize(
    ("operation", "value", "result"),
    [
        (Operation.APPEND, "compact", "delete,compact"),
        (Operation.APPEND, "delete", None),
        (Operation.SUBTRACT, "delete", ""),
        (Operation.SUBTRACT, "other", None),
    ],
)
def test_append_and_subtract_change_single_items_of_a_list(
    operation: Operation, value: str, result: str | None
) -> None:
    change = ConfigChange("cleanup.policy", operation, value)

    decision = alter_configs(
        image(cleanup_policy="delete"), T, [change], validate=validate, lists=lists
    )

    assert changed(decision.records) == ({} if result is None else {"cleanup.policy": result})


@pytest.mark.parametrize(
    ("resource", "changes", "code"),
    [
        ((2, "z"), [], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ((2, "z"), [ConfigChange("a", Operation.SET, "bad")], ErrorCode.INVALID_CONFIG),
        ((2, "a b"), [], ErrorCode.INVALID_TOPIC_EXCEPTION),
        ((2, ""), [], ErrorCode.INVALID_REQUEST),
        ((4, "7"), [], ErrorCode.BROKER_ID_NOT_REGISTERED),
        ((4, "x"), [], ErrorCode.INVALID_REQUEST),
        ((4, "-1"), [], ErrorCode.INVALID_REQUEST),
        ((32, ""), [], ErrorCode.INVALID_REQUEST),
        (T, [ConfigChange("a", Operation.SET, "x" * 32768)], ErrorCode.INVALID_CONFIG),
        (T, [ConfigChange("cleanup.policy", Operation.APPEND, None)], ErrorCode.INVALID_CONFIG),
        (T, [ConfigChange("a", Operation.APPEND, "x")], ErrorCode.INVALID_CONFIG),
        (T, [ConfigChange("a", Operation.SET, "bad")], ErrorCode.INVALID_CONFIG),
        (T, [ConfigChange("a", Operation.SET, None)], ErrorCode.INVALID_CONFIG),
        (T, [ConfigChange("a", Operation.DELETE)] * 2, ErrorCode.INVALID_REQUEST),
    ],
)
def test_invalid_config_changes_are_refused_with_the_error_code(
    resource, changes, code: ErrorCode
) -> None:
    with pytest.raises(KafkaError) as caught:
        alter_configs(image(), resource, changes, validate=validate, lists=lists)

    assert caught.value.code is code


def test_changing_min_insync_replicas_clears_eligible_leader_replicas() -> None:
    topic = config_records(image(), T, {"min.insync.replicas": "2"})
    cluster = config_records(image(), (4, ""), {"min.insync.replicas": "2"})
    node = config_records(image(), (4, "1"), {"min.insync.replicas": "2"})

    assert topic[-1] == ClearElrRecord(topic_name="t")
    assert cluster[-1] == ClearElrRecord()
    assert len(node) == 1


def test_a_config_value_of_32767_bytes_is_accepted() -> None:
    change = ConfigChange("a", Operation.SET, "x" * 32767)

    assert alter_configs(image(), T, [change], validate=validate, lists=lists).records


def test_append_and_subtract_on_an_unset_list_start_from_its_default() -> None:
    more = ConfigChange("cleanup.policy", Operation.APPEND, " compact,delete")
    less = ConfigChange("cleanup.policy", Operation.SUBTRACT, "delete,none")

    appended = alter_configs(image(), T, [more], validate=validate, lists=lists)
    subtracted = alter_configs(image(), T, [less], validate=validate, lists=lists)

    assert changed(appended.records) == {"cleanup.policy": "delete,compact"}
    assert changed(subtracted.records) == {"cleanup.policy": ""}


def test_appending_an_empty_text_adds_an_empty_item() -> None:
    change = ConfigChange("cleanup.policy", Operation.APPEND, "")

    decision = alter_configs(image(), T, [change], validate=validate, lists=lists)

    assert changed(decision.records) == {"cleanup.policy": "delete,"}  # which is no value of it


def test_unchanged_broker_settings_are_written_and_unchanged_topic_settings_are_not() -> None:
    before = evolve(image(), configs=image().configs.updated({(4, "1"): {"a": "1"}}))
    same = ConfigChange("a", Operation.SET, "1")
    nothing = ConfigChange("b", Operation.DELETE)

    assert not alter_configs(
        image(a="1"), T, [same, nothing], validate=validate, lists=lists
    ).records
    incremental = alter_configs(before, (4, "1"), [same, nothing], validate=validate, lists=lists)
    whole = set_configs(before, (4, "1"), {"a": "1"}, validate=validate)

    assert changed(incremental.records) == {"a": "1", "b": None}
    assert changed(whole.records) == {"a": "1"}


def test_min_insync_replicas_must_be_cluster_wide_when_elr_is_enabled() -> None:
    name = "min.insync.replicas"
    plain = image_of(broker(1), elr=0)

    for resource, value in (((4, "1"), "2"), ((4, "1"), None), ((4, ""), None)):
        operation = Operation.DELETE if value is None else Operation.SET
        changes = [ConfigChange(name, operation, value)]
        with pytest.raises(KafkaError) as caught:
            alter_configs(image(), resource, changes, validate=validate, lists=lists)
        assert caught.value.code is ErrorCode.INVALID_CONFIG
        assert alter_configs(plain, resource, changes, validate=validate, lists=lists).records
    everywhere = evolve(image(), configs=image().configs.updated({(4, ""): {name: "2"}}))
    with pytest.raises(KafkaError):
        set_configs(everywhere, (4, ""), {}, validate=validate)
    more = [ConfigChange(name, Operation.SET, "3")]
    assert alter_configs(everywhere, (4, ""), more, validate=validate, lists=lists).records


def test_enabling_elr_moves_min_insync_replicas_of_brokers_to_the_cluster() -> None:
    name = "min.insync.replicas"
    own = evolve(image(), configs=image().configs.updated({(4, "1"): {name: "2", "a": "1"}}))
    done = evolve(image(), configs=image().configs.updated({(4, ""): {name: "2"}}))

    records = list(elr_safety_records(own, 3))

    assert [(record.resource_type, record.resource_name, record.value) for record in records] == [
        (4, "", "3"),
        (4, "1", None),
    ]
    assert list(elr_safety_records(done, 3)) == []


def test_null_settings_of_a_new_topic_are_refused() -> None:
    assert new_topic_configs("t", {"a": "1"}, validate=validate, image=image()) == {"a": "1"}
    with pytest.raises(KafkaError):
        new_topic_configs("t", {"a": None}, validate=validate, image=image())


VALUES = st.sampled_from(["a", "b", "a,b", "b,c", "c", "delete", ""])
CHANGES = st.lists(
    st.builds(
        ConfigChange, st.sampled_from(["x", "cleanup.policy"]), st.sampled_from(Operation), VALUES
    ),
    unique_by=lambda change: change.name,
)


def after(there: str | None, change: ConfigChange) -> str | None:
    """The value after a change, computed in another way."""
    values = (change.value or "").split(",")
    items = [item for item in ("delete" if there is None else there).split(",") if item]
    match change.operation:
        case Operation.SET:
            return change.value
        case Operation.DELETE:
            return None
        case Operation.APPEND:
            return ",".join([*items, *(item for item in values if item not in items)])
        case Operation.SUBTRACT:
            return ",".join(item for item in items if item not in values)


@given(st.lists(CHANGES, max_size=8))
def test_any_sequence_of_config_changes_gives_the_metadata_of_a_simple_model(
    requests: list[list[ConfigChange]],
) -> None:
    now, model = image(), dict[str, str]()
    for changes in requests:
        if any(change.name == "x" and change.operation >= Operation.APPEND for change in changes):
            with pytest.raises(KafkaError):
                alter_configs(now, T, changes, validate=validate, lists=lists)
            continue
        records = alter_configs(now, T, changes, validate=validate, lists=lists).records
        expected = {change.name: after(model.get(change.name), change) for change in changes}
        assert changed(records) == {
            name: value for name, value in expected.items() if value != model.get(name)
        }
        model |= {name: value for name, value in expected.items() if value is not None}
        for name in [name for name, value in expected.items() if value is None]:
            model.pop(name, None)
        delta = MetadataDelta(now)
        replay_all(delta, records)
        now = delta.apply(now.offset + len(records), 1, 0)

    assert now.config(ConfigResourceType.TOPIC, "t") == model
    whole = set_configs(now, T, {"x": "a"}, validate=validate)
    assert changed(whole.records).keys() == {
        *({"x"} if model.get("x") != "a" else ()),
        *(model.keys() - {"x"}),
    }


@pytest.mark.parametrize(
    ("operation", "count"), [(Operation.APPEND, 6000), (Operation.SUBTRACT, 0)]
)
def test_lists_of_6000_items_are_changed_in_less_than_100_ms(
    operation: Operation, count: int
) -> None:
    items = ",".join(map(str, range(6000)))
    change = ConfigChange("cleanup.policy", operation, items)
    before = time.process_time()

    decision = alter_configs(
        image(cleanup_policy=items), T, [change], validate=lambda *_: None, lists=lists
    )

    text = changed(decision.records).get("cleanup.policy", items)
    assert len([word for word in text.split(",") if word]) == count
    assert time.process_time() - before < 0.1


def test_settings_of_a_resource_above_the_maximum_number_are_refused() -> None:
    def set_many(count: int) -> None:
        changes = [ConfigChange(f"a{number}", Operation.SET, "1") for number in range(count)]
        alter_configs(image(), T, changes, validate=lambda *_: None, lists=lists)

    set_many(MOST_SETTINGS - len(image().configs.get(T, {})))
    with pytest.raises(KafkaError, match="settings: expected at most 1000 of one resource"):
        set_many(MOST_SETTINGS + 1)
