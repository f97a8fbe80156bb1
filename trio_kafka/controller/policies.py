"""Policies of whoever runs a cluster: they look at topics to be created and at settings to be
changed, and may say no.

They are asked where Kafka asks them: when everything else was found right, also when a request only
wants to know (`validate_only`); of a new topic's settings both kinds are asked. Source: KIP-108,
KIP-133; Apache Kafka 4.4.0 (deletions that AlterConfigs only implies are not shown: KAFKA-14195).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.metadata.image import ConfigResourceType
from trio_kafka.model import NodeId

_logger = get_logger(__name__)


@frozen(kw_only=True)
class TopicToCreate:
    """assignments: by partition, where the request gives them: both counts are None then, and else
    those that the topic would have. configs: those that the request sets.
    """

    name: str
    partitions: int | None
    replication_factor: int | None
    assignments: Mapping[int, Sequence[NodeId]] | None
    configs: Mapping[str, str | None]


@frozen(kw_only=True)
class ConfigsToAlter:
    """Of one resource. configs: what would be set; None: set no more."""

    kind: ConfigResourceType
    name: str
    configs: Mapping[str, str | None]


TopicPolicy = Callable[[TopicToCreate, str], None]
ConfigPolicy = Callable[[ConfigsToAlter, str], None]
"""Called with the principal too. They raise KafkaError(POLICY_VIOLATION), and never wait."""

ConfigApproval = Callable[[ConfigsToAlter], None]
"""Policies about settings, bound to one principal."""


def approved(wanted: object) -> None:
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
        return Approvals(_bound(self.topics, principal), _bound(self.configs, principal))


def _bound(policies: Sequence[Callable[..., None]], principal: str) -> Callable[[object], None]:
    if not policies:
        return approved
    return lambda wanted: _ask(policies, wanted, principal)


def _ask(policies: Sequence[Callable[..., None]], wanted: object, principal: str) -> None:
    for policy in list(policies):
        try:
            policy(wanted, principal)
        except KafkaError:
            raise
        except Exception as error:
            _logger.exception("a policy failed", asked=type(wanted).__name__)
            code = ErrorCode.UNKNOWN_SERVER_ERROR
            raise KafkaError(code, "a policy failed: the request is refused") from error
