"""Effective settings: configuration files, overridden by dynamic settings.

Dynamic settings are metadata, so an image contains all of them. The metadata log may contain a
value that only another release, or a plugin of Kafka's, understands. Such a value counts as not
set, and does not affect the others. Source: KIP-226.
"""

from collections.abc import Callable, Mapping
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.dynamic import Layers
from trio_kafka.config.setting import ConfigError
from trio_kafka.config.topic import TOPIC_SETTINGS, TopicConfig, topic_config
from trio_kafka.introspect.log import get_logger
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import (
    ALL_BROKERS,
    NO_CONFIGS,
    ConfigResource,
    ConfigResourceType,
    MetadataImage,
)

_logger: Final = get_logger(__name__)
Follower = Callable[[BrokerConfig], None]


@frozen
class TopicSettings:
    """Settings of one topic: those set and valid, the effective ones, and those rejected."""

    texts: Mapping[str, str]
    config: TopicConfig
    rejected: tuple[ConfigError, ...] = ()


class EffectiveConfig:
    """Effective settings of one broker, for any image. Cached while its settings are the same."""

    def __init__(self, config: BrokerConfig) -> None:
        self.written = config
        self.broker: ConfigResource = (ConfigResourceType.BROKER, str(config.node_id))
        self._own: Mapping[str, str] = {}
        self._common: Mapping[str, str] = {}
        self._usable = Layers(config=config)
        self._effective = config
        self._configs: Mapping[ConfigResource, Mapping[str, str]] | None = None

    def layers(self, image: MetadataImage) -> Layers:
        """Return all sources of the broker's settings, with invalid values."""
        return Layers(
            config=self.written,
            dynamic=image.configs.get(self.broker, NO_CONFIGS),
            dynamic_default=image.configs.get(ALL_BROKERS, NO_CONFIGS),
        )

    def usable(self, image: MetadataImage) -> Layers:
        """Return all sources of the broker's settings, without invalid values."""
        self._update(image)
        return self._usable

    def of(self, image: MetadataImage) -> BrokerConfig:
        """Return the effective settings of the broker."""
        self._update(image)
        return self._effective

    def topic(self, image: MetadataImage, name: str) -> TopicSettings:
        """Return the settings of a topic, over those of the broker."""
        texts = image.configs.get((ConfigResourceType.TOPIC, name), NO_CONFIGS)
        broker = self.of(image)
        try:
            return TopicSettings(texts, topic_config(texts, broker))
        except ConfigError:
            readable, rejected = _readable(texts)
        try:
            return TopicSettings(readable, topic_config(readable, broker), rejected)
        except ConfigError as error:  # each is valid, but not together
            return TopicSettings({}, topic_config({}, broker), (*rejected, error))

    def _update(self, image: MetadataImage) -> None:
        """Compute the settings again if those of the broker differ from the last image."""
        if image.configs is self._configs:
            return
        self._configs = image.configs
        own = image.configs.get(self.broker, NO_CONFIGS)
        common = image.configs.get(ALL_BROKERS, NO_CONFIGS)
        if own is self._own and common is self._common:
            return
        self._own, self._common = own, common
        usable, rejected = self.layers(image).usable()
        try:
            self._effective = usable.effective()
        except ConfigError as error:
            usable, rejected = Layers(config=self.written), (*rejected, error)
            self._effective = self.written
        self._usable = usable
        for rejection in rejected:
            _logger.warning("broker settings in the metadata rejected", reason=str(rejection))


def _readable(texts: Mapping[str, str]) -> tuple[Mapping[str, str], tuple[ConfigError, ...]]:
    """Return the settings of a topic that can be parsed, and the errors of the others."""
    errors = []
    for name, text in texts.items():
        try:
            if name not in TOPIC_SETTINGS:
                raise ConfigError(name, "is no setting of topics")
            TOPIC_SETTINGS[name].parse(text)
        except ConfigError as error:
            errors.append(error)
    invalid = {error.name for error in errors}
    return {name: text for name, text in texts.items() if name not in invalid}, tuple(errors)


class DynamicSettings:
    """Publisher that passes the broker's effective settings to followers after each change."""

    def __init__(self, effective: EffectiveConfig, image: MetadataImage) -> None:
        self.config = effective.of(image)
        self._effective = effective
        self._followers: list[Follower] = []

    def follow(self, apply: Follower) -> None:
        """Call `apply` now, and whenever the broker's settings change. It must not raise."""
        self._followers.append(apply)
        apply(self.config)

    def publish(self, delta: MetadataDelta, image: MetadataImage, /) -> None:
        """Call the followers if settings of this broker or of all brokers have changed."""
        if delta.configs.keys().isdisjoint((ALL_BROKERS, self._effective.broker)):
            return
        before, self.config = self.config, self._effective.of(image)
        if self.config is not before:
            for apply in self._followers:
                apply(self.config)
