"""The broker's settings, as each part takes them."""

import pytest

from tests.broker.kit import config_of
from trio_kafka.broker.settings import (
    controller_rules,
    metadata_log_config,
    metadata_retention,
    settings_of_topic,
)
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.effective import EffectiveConfig
from trio_kafka.metadata.image import ConfigResourceType, MetadataImage
from trio_kafka.raft.retention import Retention

TOPIC = (ConfigResourceType.TOPIC, "t")
BROKER = (ConfigResourceType.BROKER, "1")
COMMON = (ConfigResourceType.BROKER, "")


def image_with(settings, before: MetadataImage | None = None) -> MetadataImage:
    before = before or MetadataImage()
    delta = MetadataDelta(before)
    for resource, values in settings.items():
        delta.config(resource).update(values)
    return delta.apply(before.offset + 1, 0, 0)


def test_topic_config_overrides_broker_config_then_cluster_default_then_file() -> None:
    of_topic = settings_of_topic(EffectiveConfig(config_of({"log.retention.ms": "1000"})))
    image = MetadataImage()
    retentions_ms = [of_topic(image, "t").retention_ms]

    for resource, name in ((COMMON, "log.retention.ms"), (BROKER, "log.retention.ms")):
        image = image_with({resource: {name: str(1000 * (len(retentions_ms) + 1))}}, image)
        retentions_ms.append(of_topic(image, "t").retention_ms)
    image = image_with({TOPIC: {"retention.ms": "4000"}}, image)

    assert [*retentions_ms, of_topic(image, "t").retention_ms] == [1000, 2000, 3000, 4000]
    assert of_topic(image, "other").retention_ms == 3000


def test_invalid_value_in_the_metadata_is_ignored(caplog) -> None:
    of_topic = settings_of_topic(EffectiveConfig(config_of({"log.retention.ms": "1000"})))

    for settings in ({TOPIC: {"retention.ms": "soon"}}, {BROKER: {"log.retention.ms": "soon"}}):
        assert of_topic(image_with(settings), "t").retention_ms == 1000

    assert [record.getMessage() for record in caplog.records] == [
        "topic setting ignored",
        "broker settings in the metadata rejected",
    ]


@pytest.mark.parametrize(
    ("kind", "values", "code"),
    [
        (ConfigResourceType.TOPIC, {"retention.ms": "soon"}, ErrorCode.INVALID_CONFIG),
        (ConfigResourceType.BROKER, {"log.retention.ms": "soon"}, ErrorCode.INVALID_REQUEST),
        (ConfigResourceType.BROKER, {"num.partitions": "2"}, ErrorCode.INVALID_REQUEST),
        (ConfigResourceType.BROKER, {"num.io.threads": "17"}, ErrorCode.INVALID_REQUEST),
    ],
)
async def test_settings_that_cannot_take_effect_are_refused(world, kind, values, code) -> None:
    rules = controller_rules(config_of(), world)

    with pytest.raises(KafkaError) as caught:
        rules.validate(kind, "1", values, MetadataImage())

    assert caught.value.code is code


async def test_valid_settings_are_accepted(world) -> None:
    rules = controller_rules(config_of(), world)

    rules.validate(ConfigResourceType.TOPIC, "t", {"retention.ms": "5"}, MetadataImage())
    rules.validate(ConfigResourceType.BROKER, "1", {"log.retention.ms": "5"}, MetadataImage())


async def test_change_is_validated_against_the_current_broker_settings(world) -> None:
    rules = controller_rules(config_of({"num.io.threads": "8"}), world)
    more = image_with({COMMON: {"num.io.threads": "16"}})

    rules.validate(ConfigResourceType.BROKER, "1", {"num.io.threads": "32"}, more)
    with pytest.raises(KafkaError):
        rules.validate(ConfigResourceType.BROKER, "1", {"num.io.threads": "32"}, MetadataImage())


async def test_topic_config_is_validated_against_the_current_broker_defaults(world) -> None:
    rules = controller_rules(config_of(), world)
    lag = {"min.compaction.lag.ms": "10"}
    less = image_with({COMMON: {"log.cleaner.max.compaction.lag.ms": "5"}})

    rules.validate(ConfigResourceType.TOPIC, "t", lag, MetadataImage())
    with pytest.raises(KafkaError):
        rules.validate(ConfigResourceType.TOPIC, "t", lag, less)


async def test_list_settings_start_from_the_file_for_topics_and_the_default_for_brokers(
    world,
) -> None:
    lists = controller_rules(config_of({"log.cleanup.policy": "compact"}), world).lists

    assert lists(ConfigResourceType.TOPIC, "cleanup.policy") == "compact"
    assert lists(ConfigResourceType.BROKER, "log.cleanup.policy") == "delete"
    assert lists(ConfigResourceType.TOPIC, "leader.replication.throttled.replicas") == ""
    assert lists(ConfigResourceType.GROUP, "streams.rack.aware.assignment.tags") == ""
    for kind, name in (
        (ConfigResourceType.GROUP, "consumer.session.timeout.ms"),
        (ConfigResourceType.GROUP, "no.such"),
        (ConfigResourceType.TOPIC, "retention.ms"),
        (ConfigResourceType.BROKER, "no.such"),
    ):
        assert lists(kind, name) is None


async def test_controller_uses_the_settings_of_the_broker(world) -> None:
    config = config_of(
        {
            "num.partitions": "7",
            "default.replication.factor": "2",
            "min.insync.replicas": "2",
            "delete.topic.enable": "false",
            "broker.session.timeout.ms": "12340",
        }
    )

    rules = controller_rules(config, world)

    settings = rules.settings
    assert (settings.num_partitions, settings.default_replication_factor) == (7, 2)
    assert (settings.min_insync_replicas, settings.delete_topic_enable) == (2, False)
    assert settings.broker_session_timeout_ms == 12340


def test_metadata_log_has_its_own_settings() -> None:
    config = config_of(
        {
            "metadata.log.segment.bytes": "9000000",
            "metadata.log.segment.ms": "2",
            "metadata.max.retention.bytes": "3",
            "metadata.max.retention.ms": "4",
            "log.segment.bytes": "5000000",
        }
    )

    settings = metadata_log_config(config)

    assert (settings.segment_bytes, settings.segment_ms) == (9_000_000, 2)
    assert (settings.retention_bytes, settings.retention_ms) == (-1, -1)  # its snapshots decide
    assert metadata_retention(config) == Retention(max_bytes=3, max_ms=4)
    assert settings.max_message_bytes == 9_000_000
