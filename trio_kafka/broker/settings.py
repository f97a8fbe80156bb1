"""Conversion of the broker's configuration to the settings of each part."""

from collections.abc import Callable, Collection, Mapping
from typing import Final

from attrs import evolve

from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.catalogue import setting_of
from trio_kafka.config.change_rules import check_broker_change
from trio_kafka.config.client_metrics import CLIENT_METRICS_SETTINGS, validate_client_metrics
from trio_kafka.config.dynamic import Layers
from trio_kafka.config.group import group_settings, validate_group_configs
from trio_kafka.config.setting import ConfigError, Setting
from trio_kafka.config.topic import (
    TOPIC_SETTINGS,
    TopicConfig,
    topic_defaults,
    validate_topic_configs,
)
from trio_kafka.controller.controller import DecisionRules
from trio_kafka.controller.decision import ControllerSettings
from trio_kafka.controller.topics import Randomness
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.log.config import LogConfig
from trio_kafka.metadata.effective import EffectiveConfig
from trio_kafka.metadata.image import ConfigResourceType, MetadataImage
from trio_kafka.model import NodeId
from trio_kafka.raft.retention import Retention
from trio_kafka.world.world import World

_logger: Final = get_logger(__name__)


def settings_of_topic(effective: EffectiveConfig) -> Callable[[MetadataImage, str], TopicConfig]:
    """Return a function for a topic's settings in force; unreadable values count as not set."""

    def of_topic(image: MetadataImage, topic: str) -> TopicConfig:
        topic_config = effective.topic(image, topic)
        for error in topic_config.rejected:
            _logger.warning("topic setting ignored", topic=topic, reason=str(error))
        return topic_config.config

    return of_topic


def controller_rules(config: BrokerConfig, world: World) -> DecisionRules:
    """Return the rules by which the controller decides."""
    effective = EffectiveConfig(config)
    defaults = topic_defaults(config)

    def validate(
        kind: ConfigResourceType, name: str, values: Mapping[str, str], image: MetadataImage
    ) -> None:
        if kind is ConfigResourceType.TOPIC:
            validate_topic_configs(values, effective.of(image))
        elif kind is ConfigResourceType.GROUP:
            validate_group_configs(values, effective.usable(image))
        elif kind is ConfigResourceType.CLIENT_METRICS:
            validate_client_metrics(values)
        else:
            me = image.brokers.get(NodeId(config.node_id))
            registered = [endpoint.name for endpoint in me.endpoints] if me is not None else []
            layers = effective.layers(image)
            _check_broker_change(layers, values, per_broker=bool(name), registered=registered)

    def lists(kind: ConfigResourceType, name: str) -> str | None:
        setting: Setting | None
        if kind is ConfigResourceType.GROUP:
            setting = group_settings().get(name)
        elif kind is ConfigResourceType.CLIENT_METRICS:
            setting = CLIENT_METRICS_SETTINGS.get(name)
        elif kind is ConfigResourceType.TOPIC:
            setting = TOPIC_SETTINGS.get(name)
            if setting is not None:
                setting = evolve(setting, default=getattr(defaults, setting.field))
        else:
            setting = setting_of(name)
        return None if setting is None else setting.default_list()

    return DecisionRules(
        settings=ControllerSettings(
            num_partitions=config.num_partitions,
            default_replication_factor=config.default_replication_factor,
            min_insync_replicas=config.min_insync_replicas,
            delete_topic_enable=config.delete_topic_enable,
            broker_session_timeout_ms=config.broker_session_timeout_ms,
            delegation_token_max_lifetime_ms=config.delegation_token_max_lifetime_ms,
            delegation_token_expiry_time_ms=config.delegation_token_expiry_time_ms,
        ),
        validate=validate,
        lists=lists,
        randomness=Randomness(choose=world.random.randrange, random_bytes=world.random_bytes),
    )


def _check_broker_change(
    layers: Layers, changes: Mapping[str, str], *, per_broker: bool, registered: Collection[str]
) -> None:
    """Check a change of broker settings. Raises KafkaError(INVALID_REQUEST), like Kafka."""
    try:
        warnings = check_broker_change(
            layers, changes, per_broker=per_broker, registered=registered
        )
    except ConfigError as error:
        raise KafkaError(ErrorCode.INVALID_REQUEST, str(error)) from error
    for warning in warnings:
        _logger.warning("setting accepted without effect", setting=warning)


def metadata_retention(config: BrokerConfig) -> Retention:
    """Return the retention of metadata snapshots."""
    return Retention(
        max_bytes=config.metadata_max_retention_bytes, max_ms=config.metadata_max_retention_ms
    )


def metadata_log_config(config: BrokerConfig) -> LogConfig:
    """Return the settings of the metadata log; its retention follows from the snapshots alone."""
    return LogConfig(
        segment_bytes=config.metadata_log_segment_bytes,
        segment_ms=config.metadata_log_segment_ms,
        retention_bytes=-1,
        retention_ms=-1,
        max_message_bytes=config.metadata_log_segment_bytes,
    )
