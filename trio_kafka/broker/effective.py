"""What is in force of the broker's settings: the files, with what was set while the broker runs.

What was set stands in the metadata, so an image says all of it. A value there that this software
refuses counts as not set, and is logged once. Source: KIP-226.
"""

from collections.abc import Callable, Mapping
from typing import Final

from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.dynamic import Layers
from trio_kafka.config.setting import ConfigError
from trio_kafka.introspect.log import get_logger
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import MetadataImage, ResourceType

_logger: Final = get_logger(__name__)
Follower = Callable[[BrokerConfig], None]


class EffectiveConfig:
    """Of one broker, for any image; costs two look-ups where nothing has changed."""

    def __init__(self, config: BrokerConfig) -> None:
        self.written = config
        self._broker = str(config.node_id)
        self._own: Mapping[str, str] = {}
        self._common: Mapping[str, str] = {}
        self._found = config

    def layers(self, image: MetadataImage) -> Layers:
        """All that settings come from."""
        return Layers(
            config=self.written,
            dynamic=image.config(ResourceType.BROKER, self._broker),
            dynamic_default=image.config(ResourceType.BROKER, ""),
        )

    def of(self, image: MetadataImage) -> BrokerConfig:
        """What is in force with an image."""
        layers = self.layers(image)
        if layers.dynamic is not self._own or layers.dynamic_default is not self._common:
            self._own, self._common = layers.dynamic, layers.dynamic_default
            self._found = self._compute(layers)
        return self._found

    def _compute(self, layers: Layers) -> BrokerConfig:
        usable, refused = layers.usable()
        for error in refused:
            _logger.warning("broker settings in the metadata refused", reason=str(error))
        try:
            return usable.effective()
        except ConfigError as error:  # each is good, together they are not
            _logger.warning("broker settings in the metadata refused", reason=str(error))
            return self.written


class DynamicSettings:
    """A publisher: whoever follows is told what is in force, at once and after each change."""

    def __init__(self, effective: EffectiveConfig, image: MetadataImage) -> None:
        self.config = effective.of(image)
        self._effective = effective
        self._followers: list[Follower] = []

    def follow(self, apply: Follower) -> None:
        """Tell `apply` now, and whenever the settings of brokers have changed. It must not fail."""
        self._followers.append(apply)
        apply(self.config)

    def publish(self, delta: MetadataDelta, image: MetadataImage, /) -> None:
        """Tell the followers, if settings of this broker or of all have changed."""
        if not any(kind == ResourceType.BROKER for kind, _ in delta.configs):
            return
        before, self.config = self.config, self._effective.of(image)
        if self.config is not before:
            for apply in self._followers:
                apply(self.config)
