import pytest

from trio_kafka.config.load import broker_config
from trio_kafka.config.setting import ConfigError
from trio_kafka.config.topic import (
    TopicConfig,
    check_topic_defaults,
    topic_config,
    topic_defaults,
    validate_topic_configs,
)
from trio_kafka.errors import ErrorCode, KafkaError

BROKER = broker_config()


def test_a_topic_without_settings_has_the_default_values_of_kafka():
    assert topic_defaults(BROKER) == validate_topic_configs({}, BROKER) == TopicConfig()


@pytest.mark.parametrize(
    ("broker", "field", "value"),
    [
        ({"log.retention.hours": "2"}, "retention_ms", 7_200_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, "retention_ms", 180_000),
        ({"log.retention.minutes": "3", "log.retention.ms": "5"}, "retention_ms", 5),
        ({"log.retention.hours": "-1"}, "retention_ms", -1),
        ({"log.retention.ms": "-7"}, "retention_ms", -1),
        ({"log.roll.hours": "1"}, "segment_ms", 3_600_000),
        ({"log.roll.hours": "1", "log.roll.ms": "9"}, "segment_ms", 9),
        ({"log.roll.jitter.hours": "1"}, "segment_jitter_ms", 3_600_000),
        ({"log.flush.scheduler.interval.ms": "8"}, "flush_ms", 8),
        ({"log.flush.scheduler.interval.ms": "8", "log.flush.interval.ms": "0"}, "flush_ms", 0),
        ({"log.segment.bytes": "2097152"}, "segment_bytes", 2_097_152),
        ({"log.cleanup.policy": "compact,delete"}, "cleanup_policy", ("compact", "delete")),
        ({"message.max.bytes": "77"}, "max_message_bytes", 77),
        ({"log.local.retention.ms": "-2"}, "local_retention_ms", -2),
    ],
)
def test_a_topic_default_comes_from_the_first_broker_synonym_that_is_set(broker, field, value):
    assert getattr(topic_defaults(broker_config(broker)), field) == value


def test_settings_of_a_topic_override_broker_settings():
    broker = broker_config({"log.retention.ms": "5", "log.segment.bytes": "2097152"})

    config = topic_config({"retention.ms": "0", "cleanup.policy": ""}, broker)

    assert (config.retention_ms, config.segment_bytes) == (0, 2_097_152)
    assert config.cleanup_policy == ()


@pytest.mark.parametrize(
    ("configs", "text"),
    [
        (
            {"retention": "1"},
            "retention: is not a topic setting: did you mean retention.ms?",
        ),
        (
            {"log.retention.ms": "1"},
            "log.retention.ms: is not a topic setting: did you mean retention.ms?",
        ),
        ({"zzz": "1"}, "zzz: is not a topic setting"),
        ({"retention.ms": "-2"}, "retention.ms: -2 is too small: want at least -1"),
        ({"retention.ms": "1 d"}, "retention.ms: '1 d' is not a whole number"),
        ({"segment.bytes": "1000"}, "segment.bytes: 1000 is too small: want at least 1048576"),
        ({"cleanup.policy": "drop"}, "cleanup.policy: 'drop' is not one of compact, delete"),
        ({"preallocate": "1"}, "preallocate: '1' is not a boolean: want true or false"),
        (
            {"retention.ms": None, "flush.ms": None},
            "flush.ms, retention.ms: the value is null: give a text",
        ),
        (
            {"min.compaction.lag.ms": "5", "max.compaction.lag.ms": "4"},
            "min.compaction.lag.ms: 5 is above max.compaction.lag.ms, which is 4: lower it",
        ),
        (
            {"leader.replication.throttled.replicas": "0:1,2"},
            (
                "leader.replication.throttled.replicas: "
                "'2' is not PARTITION:BROKER, and the list is not '*'"
            ),
        ),
        (
            {"remote.storage.enable": "true"},
            "remote.storage.enable: tiered storage is not supported yet: leave it out",
        ),
    ],
)
def test_invalid_topic_settings_raise_invalid_config_with_the_setting_name(configs, text):
    with pytest.raises(KafkaError) as caught:
        validate_topic_configs(configs, BROKER)

    assert (caught.value.code, caught.value.message) == (ErrorCode.INVALID_CONFIG, text)


@pytest.mark.parametrize("replicas", ["*", "0:1", "0:1,1:2", ""])
def test_throttled_replicas_may_be_pairs_or_a_star_or_empty(replicas):
    name = "follower.replication.throttled.replicas"

    validate_topic_configs({name: replicas}, BROKER)


def test_the_compaction_lag_of_a_topic_is_compared_with_the_broker_maximum():
    broker = broker_config({"log.cleaner.max.compaction.lag.ms": "100"})

    with pytest.raises(
        KafkaError, match=r"101 is above max.compaction.lag.ms, which is 100: lower it"
    ):
        validate_topic_configs({"min.compaction.lag.ms": "101"}, broker)


@pytest.mark.parametrize(
    ("broker", "text"),
    [
        ({"log.roll.ms": "0"}, "log.roll.ms: 0 is too small: want at least 1"),
        ({"log.roll.jitter.ms": "-1"}, "log.roll.jitter.ms: -1 is too small: want at least 0"),
        (
            {"log.retention.ms": "0"},
            "log.retention.ms: 0 would keep nothing: want -1, or at least 1",
        ),
        (
            {"log.retention.hours": "0"},
            "log.retention.hours: 0 would keep nothing: want -1, or at least 1",
        ),
        (
            {"max.decompressed.message.bytes": "2147483647"},
            "max.decompressed.message.bytes: 2147483647 is too large: want 1 to 2147483639",
        ),
        (
            {"log.cleaner.min.compaction.lag.ms": "2", "log.cleaner.max.compaction.lag.ms": "1"},
            (
                "log.cleaner.min.compaction.lag.ms: 2 is above"
                " max.compaction.lag.ms, which is 1: lower it"
            ),
        ),
    ],
)
def test_a_broker_default_invalid_for_topics_is_refused_by_its_broker_name(broker, text):
    with pytest.raises(ConfigError) as caught:
        broker_config(broker)

    assert f"{caught.value.name}: {caught.value.reason}" == text


def test_broker_defaults_are_valid_topic_settings():
    check_topic_defaults(BROKER)
