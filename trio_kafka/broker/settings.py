"""The broker's settings, as each part takes them."""

from collections.abc import Callable, Mapping
from typing import Final

from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.dynamic import Layers
from trio_kafka.config.setting import ConfigError
from trio_kafka.config.topic import (
    TOPIC_SETTINGS,
    TopicConfig,
    topic_config,
    validate_topic_configs,
)
from trio_kafka.config.values import Kind
from trio_kafka.controller.controller import Rules
from trio_kafka.controller.settings import ControllerSettings
from trio_kafka.controller.topics import Chance
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.log.config import LogConfig
from trio_kafka.metadata.image import MetadataImage, ResourceType
from trio_kafka.world.protocols import World

_logger: Final = get_logger(__name__)
LISTS: Final = frozenset(
    name for name, setting in TOPIC_SETTINGS.items() if setting.kind is Kind.LIST
)


def settings_of_topic(config: BrokerConfig) -> Callable[[MetadataImage, str], TopicConfig]:
    """What is in force for a topic of an image: its own settings over those of the broker.

    A value in the metadata that this software refuses counts as not set, and is logged.
    """
    broker = str(config.node_id)
    last: tuple[Mapping[str, str], Mapping[str, str], BrokerConfig] = {}, {}, config

    def effective(image: MetadataImage) -> BrokerConfig:
        nonlocal last
        own = image.config(ResourceType.BROKER, broker)
        common = image.config(ResourceType.BROKER, "")
        if last[0] is not own or last[1] is not common:
            try:
                found = Layers(config=config, dynamic=own, dynamic_default=common).effective()
            except ConfigError as error:
                _logger.warning("broker settings in the metadata refused", reason=str(error))
                found = config
            last = own, common, found
        return last[2]

    def of_topic(image: MetadataImage, topic: str) -> TopicConfig:
        given = image.config(ResourceType.TOPIC, topic)
        try:
            return topic_config(given, effective(image))
        except ConfigError as error:
            _logger.warning("topic settings refused", topic=topic, reason=str(error))
            return topic_config({}, effective(image))

    return of_topic


def controller_rules(config: BrokerConfig, world: World) -> Rules:
    """What the controller decides by."""

    def validate(kind: ResourceType, name: str, values: Mapping[str, str]) -> None:
        del name
        if kind is ResourceType.TOPIC:
            validate_topic_configs(values, config)
            return
        if kind is ResourceType.BROKER:
            try:
                Layers(config=config, dynamic=values).effective()
            except ConfigError as error:
                raise KafkaError(ErrorCode.INVALID_CONFIG, str(error)) from error
            return
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"settings of {kind.name} are not served")

    return Rules(
        settings=ControllerSettings(
            num_partitions=config.num_partitions,
            default_replication_factor=config.default_replication_factor,
            min_insync_replicas=config.min_insync_replicas,
            delete_topic_enable=config.delete_topic_enable,
            broker_session_timeout_ms=config.broker_session_timeout_ms,
        ),
        validate=validate,
        lists=LISTS,
        chance=Chance(choose=world.random.randrange, random_bytes=world.random_bytes),
    )


def metadata_log_config(config: BrokerConfig) -> LogConfig:
    """The metadata log's own settings; it keeps what its snapshots need."""
    return LogConfig(
        segment_bytes=config.metadata_log_segment_bytes,
        segment_ms=config.metadata_log_segment_ms,
        retention_bytes=config.metadata_max_retention_bytes,
        retention_ms=config.metadata_max_retention_ms,
        max_message_bytes=config.metadata_log_segment_bytes,
    )
