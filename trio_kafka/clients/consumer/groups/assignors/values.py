"""Subscriptions and assignments: arguments and results of assignors."""

from collections.abc import Mapping
from typing import TypeAlias

from trio_kafka.attributes import frozen
from trio_kafka.model import TopicPartition

Assignments: TypeAlias = dict[str, list[TopicPartition]]
"""Partitions by member id."""


@frozen(kw_only=True)
class MemberSubscription:
    """A member in the eyes of an assignor. owned: in its last generation, as far as it says so.

    rack: where it is; None: it does not say.
    """

    member_id: str
    topics: frozenset[str]
    instance_id: str | None = None
    owned: tuple[TopicPartition, ...] = ()
    generation: int = -1
    rack: str | None = None

    @property
    def order(self) -> tuple[bool, str]:
        """Key of Kafka's order of members: static ones first, by instance id."""
        if self.instance_id is None:
            return True, self.member_id
        return False, self.instance_id


Members: TypeAlias = list[MemberSubscription]
Counts: TypeAlias = Mapping[str, int]
"""Number of partitions by topic."""
