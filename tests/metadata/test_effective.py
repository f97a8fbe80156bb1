"""Settings of the broker that are in force, and their followers."""

import pytest

from tests.broker.kit import config_of
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.effective import DynamicSettings, EffectiveConfig
from trio_kafka.metadata.image import ConfigResourceType, MetadataImage

OWN = (ConfigResourceType.BROKER, "1")
OTHER = (ConfigResourceType.BROKER, "2")
COMMON = (ConfigResourceType.BROKER, "")
TOPIC = (ConfigResourceType.TOPIC, "t")
THREADS = "num.io.threads"


def changed(before: MetadataImage, resource, **values: str | None):
    """The delta and the image after a change; `_` in a name stands for `.`, None takes away."""
    delta = MetadataDelta(before)
    there = delta.config(resource)
    for name, value in values.items():
        if value is None:
            there.pop(name.replace("_", "."))
        else:
            there[name.replace("_", ".")] = value
    return delta, delta.apply(before.offset + 1, 0, 0)


def test_broker_settings_override_cluster_settings_and_cluster_settings_override_files() -> None:
    effective = EffectiveConfig(config_of({THREADS: "3"}))
    image = MetadataImage()
    result = [effective.of(image).num_io_threads]

    for resource, value in ((COMMON, "4"), (OWN, "5"), (OTHER, "6"), (OWN, None), (COMMON, None)):
        _, image = changed(image, resource, num_io_threads=value)
        result.append(effective.of(image).num_io_threads)

    assert result == [3, 4, 5, 5, 4, 3]
    assert effective.of(image) is effective.of(image)
    assert effective.written.num_io_threads == 3


def test_invalid_settings_in_the_metadata_are_ignored_and_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    effective = EffectiveConfig(config_of())
    _, image = changed(MetadataImage(), OWN, num_io_threads="5", log_retention_ms="soon")

    for _ in range(3):
        result = effective.of(image)

    assert (result.num_io_threads, result.log_retention_ms) == (5, None)
    assert [record.getMessage() for record in caplog.records] == [
        "broker settings in the metadata rejected"
    ]


def test_contradictory_settings_in_the_metadata_are_ignored(
    caplog: pytest.LogCaptureFixture,
) -> None:
    effective = EffectiveConfig(config_of())
    _, image = changed(
        MetadataImage(),
        OWN,
        num_io_threads="5",
        log_cleaner_min_compaction_lag_ms="9",
        log_cleaner_max_compaction_lag_ms="8",
    )

    assert effective.of(image) is effective.written
    assert len(caplog.records) == 1


def test_invalid_topic_settings_do_not_hide_valid_topic_settings() -> None:
    effective = EffectiveConfig(config_of({"log.retention.ms": "9"}))
    _, image = changed(
        MetadataImage(),
        TOPIC,
        retention_ms="-1",
        message_format_version="2.8",  # of an older Kafka
        segment_bytes="many",
    )
    _, contrary = changed(
        MetadataImage(), TOPIC, min_compaction_lag_ms="9", max_compaction_lag_ms="8"
    )

    result, none, bad = (
        effective.topic(image, "t"),
        effective.topic(image, "other"),
        effective.topic(contrary, "t"),
    )

    assert (result.texts, result.config.retention_ms) == ({"retention.ms": "-1"}, -1)
    assert [error.name for error in result.rejected] == ["message.format.version", "segment.bytes"]
    assert (none.texts, none.config.retention_ms, none.rejected) == ({}, 9, ())
    assert (bad.texts, len(bad.rejected)) == ({}, 1)


def test_usable_layers_do_not_have_invalid_settings() -> None:
    effective = EffectiveConfig(config_of())
    _, image = changed(MetadataImage(), OWN, num_io_threads="5", no_such="1")
    _, image = changed(image, COMMON, log_retention_ms="soon", message_max_bytes="7")

    assert effective.layers(image).dynamic == {THREADS: "5", "no.such": "1"}
    assert effective.usable(image).dynamic == {THREADS: "5"}
    assert effective.usable(image).dynamic_default == {"message.max.bytes": "7"}


def test_followers_of_settings_get_the_first_value_and_each_effective_change() -> None:
    _, image = changed(MetadataImage(), OWN, num_io_threads="4")
    dynamic = DynamicSettings(EffectiveConfig(config_of({THREADS: "3"})), image)
    thread_counts: list[int] = []
    dynamic.follow(lambda config: thread_counts.append(config.num_io_threads))

    for resource, values in (
        (TOPIC, {"retention_ms": "7"}),
        (OTHER, {"num_io_threads": "9"}),
        (COMMON, {"num_io_threads": "8"}),  # hidden by this broker's own
        (OWN, {"num_io_threads": "5"}),
        (OWN, {"num_io_threads": None}),
    ):
        delta, image = changed(image, resource, **values)
        dynamic.publish(delta, image)

    assert thread_counts == [4, 4, 5, 8]
    assert dynamic.config.num_io_threads == 8
