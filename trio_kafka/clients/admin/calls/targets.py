"""Brokers that a request may have to go to."""

from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.model import TopicPartition

GROUP: Final = 0  # kinds of keys in FindCoordinator
TRANSACTION: Final = 1


@frozen
class AnyBroker:
    """A broker of the cluster that the client chooses."""


@frozen
class Controller:
    """A broker that the client chooses, which forwards; the controller itself if it does not."""


@frozen
class BrokerTarget:
    """A broker by its node id."""

    node: int


@frozen
class LeaderTarget:
    """Leader of a partition."""

    partition: TopicPartition


@frozen
class CoordinatorTarget:
    """Coordinator of a group or of a transactional id. kind: GROUP or TRANSACTION."""

    kind: int
    key: str


Target = AnyBroker | Controller | BrokerTarget | LeaderTarget | CoordinatorTarget
ANY: Final = AnyBroker()
CONTROLLER: Final = Controller()


def group_target(group: str) -> Target:
    """Return the coordinator of a group."""
    return CoordinatorTarget(GROUP, group)


def transaction_target(transactional_id: str) -> Target:
    """Return the coordinator of a transactional id."""
    return CoordinatorTarget(TRANSACTION, transactional_id)
