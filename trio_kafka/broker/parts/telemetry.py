"""Telemetry of clients (KIP-714) as a part of the broker: the subscriptions of its metadata."""

from collections.abc import Callable, Mapping
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.broker.node import Node, Part, at_once
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import ConfigResource, ConfigResourceType, MetadataImage
from trio_kafka.metadata.publisher import Loader, MetadataCache
from trio_kafka.telemetry.client_telemetry import ClientTelemetry, Texts
from trio_kafka.telemetry.instances import TelemetryLimits


@define(eq=False)
class SubscriptionTexts:
    """Settings of the subscriptions in the newest image; the same object until they change."""

    metadata: MetadataCache
    _configs: Mapping[ConfigResource, Mapping[str, str]] | None = field(default=None, init=False)
    _texts: Texts = field(factory=dict, init=False)

    def __call__(self) -> Texts:
        configs = self.metadata.image.configs
        if configs is not self._configs:
            self._configs = configs
            texts = {
                name: values
                for (kind, name), values in configs.items()
                if kind == ConfigResourceType.CLIENT_METRICS
            }
            if texts != self._texts:
                self._texts = texts
        return self._texts


@define(eq=False)
class ListedTelemetry:
    """Publisher that lets the APIs be listed anew when the first subscription comes or the last
    one goes: ApiVersions is answered from `Registry.cache`, and asks no part each time.
    """

    telemetry: ClientTelemetry
    forget: Callable[[], None]
    _was_subscribed: bool = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._was_subscribed = self.telemetry.is_subscribed

    def publish(self, _delta: MetadataDelta, _image: MetadataImage, /) -> None:
        if self.telemetry.is_subscribed != self._was_subscribed:
            self._was_subscribed = self.telemetry.is_subscribed
            self.forget()


def _make(node: Node) -> ClientTelemetry:
    telemetry = ClientTelemetry(
        SubscriptionTexts(node[MetadataCache]),
        lambda: node.world.random_bytes(16),
        TelemetryLimits(largest=node.config.telemetry_max_bytes),
    )
    listed = ListedTelemetry(telemetry, node.handler_parts.apis.cache.clear)
    node[Loader].add(listed, "configs")
    node.tree.add("client-telemetry", "part", telemetry.figures)
    return telemetry


TELEMETRY: Final = Part(kind=ClientTelemetry, open=at_once(_make))
