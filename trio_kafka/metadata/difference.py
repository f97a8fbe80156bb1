"""Difference between two images, for a reader that fell behind a snapshot.

The records between them are gone, so both images are compared entry by entry.
"""

from collections.abc import Iterator, Mapping
from typing import TypeVar

from trio_kafka.metadata.delta import MetadataDelta, TopicDelta
from trio_kafka.metadata.image import MetadataImage, TopicImage

K = TypeVar("K")
V = TypeVar("V")


def difference(old: MetadataImage, new: MetadataImage) -> MetadataDelta:
    """Return the delta from `old` to `new`, for publishers."""
    delta = MetadataDelta(old)
    for topic in old.topics.values():
        if topic.id not in new.topic_names:
            delta.deleted_topics[topic.id] = topic.name
    for topic in new.topics.values():
        changed = _topic(old.topic(topic.id), topic)
        if changed is not None:
            delta.topics[topic.id] = changed
    delta.brokers.update(_changes(old.brokers, new.brokers))
    delta.controllers.update(_changes(old.controllers, new.controllers))
    delta.configs.update(
        (owner, dict(texts or {})) for owner, texts in _changes(old.configs, new.configs)
    )
    delta.features.update(
        (name, level or 0) for name, level in _changes(old.features, new.features)
    )
    delta.quotas.update(
        (entity, dict(limits or {})) for entity, limits in _changes(old.quotas, new.quotas)
    )
    delta.scram.update(_changes(old.scram, new.scram))
    delta.acls.update(_changes(old.acls, new.acls))
    delta.tokens.update(_changes(old.tokens, new.tokens))
    if new.next_producer_id != old.next_producer_id:
        delta.next_producer_id = new.next_producer_id
    return delta


def _topic(old: TopicImage | None, new: TopicImage) -> TopicDelta | None:
    before = old.partitions if old else {}
    changed = {at: None for at, state in new.partitions.items() if before.get(at) != state}
    if old is not None and not changed:
        return None
    return TopicDelta(
        name=new.name,
        id=new.id,
        created=old is None,
        partitions=dict(new.partitions),
        changed=changed,
    )


def _changes(old: Mapping[K, V], new: Mapping[K, V]) -> Iterator[tuple[K, V | None]]:
    for key in old:
        if key not in new:
            yield key, None
    for key, value in new.items():
        if old.get(key) != value:
            yield key, value
