from tests.replication.kit import BROKER
from trio_kafka.config.topic import topic_config
from trio_kafka.log.config import LogConfig
from trio_kafka.records.compression import Codec
from trio_kafka.records.validate import Limits
from trio_kafka.replication.settings import PartitionSettings, log_config, partition_settings


def settings(**texts: str) -> PartitionSettings:
    topic = topic_config({name.replace("_", "."): text for name, text in texts.items()}, BROKER)
    return partition_settings(topic, full_validation=False)


def test_a_topic_without_settings_has_the_defaults_of_logs_and_partitions() -> None:
    topic = topic_config({}, BROKER)

    assert log_config(topic) == LogConfig()
    assert partition_settings(topic, full_validation=False) == PartitionSettings()


def test_settings_of_a_topic_are_those_of_its_log() -> None:
    configs = {"cleanup.policy": "compact,delete", "segment.bytes": "2000000", "retention.ms": "5"}

    config = log_config(topic_config(configs, BROKER))

    assert config == LogConfig(
        cleanup_policy=frozenset({"compact", "delete"}), segment_bytes=2_000_000, retention_ms=5
    )


def test_internal_segment_bytes_overrides_segment_bytes() -> None:
    configs = {"segment.bytes": "2000000", "internal.segment.bytes": "100"}

    assert log_config(topic_config(configs, BROKER)).segment_bytes == 100


def test_settings_limit_message_size_and_timestamps() -> None:
    bound = settings(
        max_message_bytes="99",
        message_timestamp_type="LogAppendTime",
        message_timestamp_before_max_ms="7",
        message_timestamp_after_max_ms="8",
        min_insync_replicas="2",
    )

    assert bound.limits == Limits(
        max_message_bytes=99, log_append_time=True, before_max_ms=7, after_max_ms=8
    )
    assert bound.min_insync_replicas == 2


def test_compression_type_sets_codec_and_level_and_producer_sets_none() -> None:
    zstd = settings(compression_type="zstd", compression_zstd_level="5")
    gzip = settings(compression_type="gzip")
    plain = settings(compression_type="uncompressed")

    assert (zstd.codec, zstd.level) == (Codec.ZSTD, 5)
    assert (gzip.codec, gzip.level) == (Codec.GZIP, -1)
    assert (plain.codec, plain.level) == (Codec.NONE, None)
    assert settings(compression_type="producer").codec is None


def test_compacted_topics_need_keys_and_full_validation_reads_all_records() -> None:
    assert settings(cleanup_policy="compact").need_keys
    assert partition_settings(topic_config({}, BROKER), full_validation=True).walk


def test_topics_with_the_same_settings_share_their_config_objects():
    first, same = topic_config({}, BROKER), topic_config({}, BROKER)
    other = topic_config({"retention.ms": "5"}, BROKER)

    assert log_config(first) is log_config(same)
    assert partition_settings(first, full_validation=True) is partition_settings(
        same, full_validation=True
    )
    assert log_config(other).retention_ms == 5
    assert log_config(first).retention_ms != 5
