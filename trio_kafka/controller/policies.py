"""Policies of operators: checks of new topics and of changed settings, which can refuse them.

A policy is called as Kafka calls it: after all other checks, also if a request only validates. The
settings of a new topic are checked by both kinds. Source: KIP-108, KIP-133; Apache Kafka 4.4.0
(removals that AlterConfigs implies are not passed: KAFKA-14195).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.metadata.image import ConfigResourceType
from trio_kafka.model import NodeId

T = TypeVar("T")
_logger = get_logger(__name__)


@frozen(kw_only=True)
class TopicToCreate:
    """Topic to be checked. configs: those of the request.

    assignments: by partition, if the request has them. Then both counts are None; otherwise they
    are those of the new topic.
    """

    name: str
    partitions: int | None
    replication_factor: int | None
    assignments: Mapping[int, Sequence[NodeId]] | None
    configs: Mapping[str, str | None]


@frozen(kw_only=True)
class ConfigsToAlter:
    """Changed settings of one resource to be checked. configs: None marks a removed setting."""

    kind: ConfigResourceType
    name: str
    configs: Mapping[str, str | None]


TopicPolicy = Callable[[TopicToCreate, str], None]
ConfigPolicy = Callable[[ConfigsToAlter, str], None]
"""Called with the principal. Raises KafkaError(POLICY_VIOLATION), and never waits."""

ConfigApproval = Callable[[ConfigsToAlter], None]
"""Policies about settings, bound to one principal."""


def approved(_proposal: object) -> None:
    """Approve of everything."""


class Approvals(NamedTuple):
    """Policies bound to one principal. Each raises KafkaError for what it refuses."""

    topic: Callable[[TopicToCreate], None] = approved
    configs: ConfigApproval = approved


@define(eq=False)
class Policies:
    """Registered policies; every one must approve."""

    topics: list[TopicPolicy] = field(factory=list, init=False)
    configs: list[ConfigPolicy] = field(factory=list, init=False)

    def approvals(self, principal: str) -> Approvals:
        """Return the policies for the requests of a principal."""
        return Approvals(
            partial(_approve, self.topics, principal) if self.topics else approved,
            partial(_approve, self.configs, principal) if self.configs else approved,
        )


def _approve(policies: Sequence[Callable[[T, str], None]], principal: str, proposal: T) -> None:
    for policy in list(policies):
        try:
            policy(proposal, principal)
        except KafkaError:
            raise
        except Exception as error:
            _logger.exception("policy failed", asked=type(proposal).__name__)
            code = ErrorCode.UNKNOWN_SERVER_ERROR
            raise KafkaError(
                code, "a policy failed, so the request is rejected: see the log of the broker"
            ) from error
