"""Telemetry of clients (KIP-714) as a part of the broker: the subscriptions of its metadata."""

from collections.abc import Mapping
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.broker.node import Node, Part, at_once
from trio_kafka.metadata.image import ConfigResource, ConfigResourceType
from trio_kafka.metadata.publisher import MetadataCache
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


def _make(node: Node) -> ClientTelemetry:
    telemetry = ClientTelemetry(
        SubscriptionTexts(node[MetadataCache]),
        lambda: node.world.random_bytes(16),
        TelemetryLimits(largest=node.config.telemetry_max_bytes),
    )
    node.tree.add("client-telemetry", "part", telemetry.figures)
    return telemetry


TELEMETRY: Final = Part(kind=ClientTelemetry, open=at_once(_make))
