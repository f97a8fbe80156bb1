"""Subscriptions of the newest image: the same object until they change."""

from attrs import evolve

from trio_kafka.broker.parts.telemetry import SubscriptionTexts
from trio_kafka.metadata.image import ConfigResourceType, MetadataImage
from trio_kafka.metadata.publisher import MetadataCache

METRICS, TOPIC = ConfigResourceType.CLIENT_METRICS, ConfigResourceType.TOPIC


def test_subscriptions_stay_the_same_object_until_they_change() -> None:
    image = MetadataImage()
    cache = MetadataCache(image)
    texts = SubscriptionTexts(cache)
    empty = texts()
    cache.image = evolve(image, configs=image.configs.updated({(METRICS, "a"): {"metrics": "*"}}))
    first = texts()
    cache.image = evolve(
        cache.image, configs=cache.image.configs.updated({(TOPIC, "t"): {"retention.ms": "1"}})
    )
    second = texts()

    assert empty == {}
    assert first == {"a": {"metrics": "*"}}
    assert second is first
