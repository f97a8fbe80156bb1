"""Partitions in calls: where they go, how requests group them, how errors name them."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from trio_kafka.clients.admin.calls.targets import LeaderTarget, Target
from trio_kafka.clients.errors import Place
from trio_kafka.model import TopicPartition

V = TypeVar("V")


def leaders(partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Target]:
    """Return the leader of each partition as the place where its requests go."""
    return {at: LeaderTarget(at) for at in partitions}


def partition_place(at: TopicPartition) -> Place:
    """Return the place of a partition in errors."""
    return Place(topic=at.topic, partition=at.partition)


def by_topic(
    partitions: Iterable[TopicPartition], row: Callable[[TopicPartition], V]
) -> dict[str, list[V]]:
    """Return a row for each partition, grouped by topic."""
    topics: dict[str, list[V]] = {}
    for at in partitions:
        topics.setdefault(at.topic, []).append(row(at))
    return topics
