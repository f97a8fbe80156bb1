"""Replicas of this broker as the metadata define them, with their settings.

New topics get their logs, deleted ones lose them. New leaders and settings are taken over, and
    requests that wait for a changed partition are marked. With the first image, directories of
    partitions that do not belong to this broker become strays: their files stay, their names are
    free.
"""

from collections.abc import Callable, Iterator
from typing import Final

from trio_kafka.config.topic import TopicConfig
from trio_kafka.metadata.delta import MetadataDelta, TopicDelta
from trio_kafka.metadata.image import ConfigResourceType, MetadataImage, TopicImage
from trio_kafka.metadata.names import is_internal
from trio_kafka.model import TopicPartition
from trio_kafka.replication.lifecycle import ReplicaLifecycle, ReplicaSettings
from trio_kafka.replication.settings import log_config, partition_settings

TopicSettings = Callable[[MetadataImage, str], TopicConfig]
_A_STEP: Final = 100  # partitions that are handled at a time


class ReplicaPublisher:
    """A Publisher that keeps the replicas up to date.

    settings_of: returns the effective settings of a topic of an image. full_validation: check every
        record of clients.
    """

    def __init__(
        self,
        lifecycle: ReplicaLifecycle,
        settings_of: TopicSettings,
        *,
        full_validation: bool = False,
    ) -> None:
        self._lifecycle = lifecycle
        self._replicas = lifecycle.replicas
        self._logs = lifecycle.logs
        self._broker = lifecycle.broker
        self._settings_of = settings_of
        self._full_validation = full_validation
        self._started = False
        self._first_steps: Iterator[None] = iter(())

    def start(self, image: MetadataImage) -> Iterator[None]:
        """Take over the first image, in steps: set strays aside, open logs, create missing ones.

        An image that is published before the last step completes these steps first.
        """
        self._started = True
        self._replicas.image = image
        self._first_steps = self._take_over(image)
        return self._first_steps

    def _take_over(self, image: MetadataImage) -> Iterator[None]:
        for looked_at, log in enumerate(self._logs.logs, 1):
            if not looked_at % _A_STEP:
                yield
            topic = image.topics.get(log.partition.topic)
            state = image.partition(log.partition)
            other_id = topic is not None and log.topic_id not in (None, topic.id)
            if state is None or other_id or self._broker not in state.replicas:
                self._logs.make_stray(log.partition)
                yield
        for at in [future.partition for future in self._logs.futures]:
            state = image.partition(at)
            if state is None or self._broker not in state.replicas:
                self._logs.make_future_stray(at)
                yield
        opened = 0
        for topic in image.topics.values():
            settings = self._settings(image, topic.name)
            for number, state in topic.partitions.items():
                if self._broker in state.replicas:
                    at = TopicPartition(topic.name, number)
                    is_missing = self._logs.get(at) is None
                    self._lifecycle.add(topic.id, at, state, settings, new=False)
                    opened += 1
                    if is_missing or opened % _A_STEP == 0:
                        yield

    def publish(self, delta: MetadataDelta, image: MetadataImage, /) -> Iterator[None]:
        """Take over the changes, in steps of one log that is created or removed.

        A partition whose step is still to come is served as before; clients retry.
        """
        if not self._started:
            yield from self.start(image)
            return
        yield from self._first_steps
        before, self._replicas.image = self._replicas.image, image
        for name in delta.deleted_topics.values():
            gone = before.topics.get(name)
            for number in gone.partitions if gone is not None else ():
                partition = self._replicas.find((name, number))
                if partition is not None:
                    self._lifecycle.remove(partition)
                yield
        for topic in delta.topics.values():
            yield from self._follow(topic)
        yield from self._follow_settings(delta)

    def _follow(self, topic: TopicDelta) -> Iterator[None]:
        settings: ReplicaSettings | None = None
        for done, number in enumerate(topic.changed, 1):
            state = topic.partitions[number]
            at = TopicPartition(topic.name, number)
            partition = self._replicas.find((topic.id, number))
            if self._broker not in state.replicas:
                if partition is not None:
                    self._lifecycle.remove(partition)
                    yield
            elif partition is None:
                settings = settings or self._settings(self._replicas.image, topic.name)
                self._lifecycle.add(topic.id, at, state, settings, new=True)
                yield
            else:
                partition.update(state)
                self._lifecycle.moves.report(partition)
                if done % _A_STEP == 0:
                    yield

    def _follow_settings(self, delta: MetadataDelta) -> Iterator[None]:
        """Take over settings in steps of a topic, or of `_A_STEP` of its partitions."""
        topics, mine = self._replicas.image.topics, ("", str(self._broker))
        if any(kind == ConfigResourceType.BROKER and name in mine for kind, name in delta.configs):
            for topic in topics.values():
                yield from self._configure(topic)
            return
        for kind, name in delta.configs:
            if kind == ConfigResourceType.TOPIC and name in topics:
                yield from self._configure(topics[name])

    def _configure(self, topic: TopicImage) -> Iterator[None]:
        settings = self._settings(self._replicas.image, topic.name)
        for done, number in enumerate(topic.partitions, 1):
            partition = self._replicas.find((topic.name, number))
            if partition is not None:
                partition.settings = settings.partition
                if partition.log is not None:
                    partition.log.configure(settings.log)
                if partition.future is not None:
                    partition.future.configure(settings.log)
                partition.advance()
                partition.changed(partition)
            if done % _A_STEP == 0:
                yield
        yield

    def _settings(self, image: MetadataImage, topic: str) -> ReplicaSettings:
        config = self._settings_of(image, topic)
        # Records of clients for an internal topic are checked, and rejected there.
        full = self._full_validation or is_internal(topic)
        settings = partition_settings(config, full_validation=full)
        return ReplicaSettings(partition=settings, log=log_config(config))
