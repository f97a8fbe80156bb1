"""Consumer groups for handlers: `context.groups.consumer`.

The machine is imported for the first shard or member, as that takes 20 ms.
"""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar

from attrs import evolve

from trio_kafka.coordinators.effects import Effects
from trio_kafka.coordinators.groups.consumer.assignors.registry import Assignors
from trio_kafka.coordinators.groups.consumer.values import (
    DescribedGroup,
    Heartbeat,
    HeartbeatAnswer,
)
from trio_kafka.coordinators.groups.groups import Event, Groups
from trio_kafka.coordinators.groups.submitter import Submitter
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.scheduling.chunked_work import Steps

if TYPE_CHECKING:
    from trio_kafka.coordinators.groups.consumer.submachine import ConsumerGroups

T = TypeVar("T")
_FEATURE: Final = "group.version"
_PROTOCOL: Final = "consumer"


class ConsumerService:
    """assignors: those that members can ask for. is_served: whether consumer groups are enabled, by
    `group.version` and `group.coordinator.rebalance.protocols`.
    """

    def __init__(self, groups: Submitter, random_bytes: Callable[[int], bytes]) -> None:
        """random_bytes: source of ids for members that have none."""
        self.assignors = Assignors(groups.settings.consumer_assignors)
        self._groups = groups
        self._random_bytes = random_bytes
        self.is_served = False

    def submachine(self, groups: Groups) -> "ConsumerGroups":
        """Return the submachine of a new shard."""
        made: ConsumerGroups = _machine("submachine").ConsumerGroups(groups, self.assignors)
        return made

    def follow(self, image: MetadataImage) -> None:
        """Take over changed settings or features."""
        protocols = self._groups.settings.protocols
        self.is_served = _PROTOCOL in protocols and image.features.get(_FEATURE, 0) >= 1

    def heartbeat(self, asked: Heartbeat, make: Callable[[HeartbeatAnswer], T]) -> Any:
        """Handle a heartbeat, see `heartbeat.heartbeat`; as `Submitter.submit`.

        Raises KafkaError: UNSUPPORTED_VERSION if consumer groups are disabled; errors of the
        request.
        """
        if not self.is_served:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        names = () if asked.assignor is None else self.assignors.names
        _machine("validation").check_heartbeat(asked, names)
        if not asked.member_id:
            asked = evolve(asked, fresh=_as_text(self._random_bytes(16)))
        event = partial(_machine("heartbeat").heartbeat, asked)
        return self._groups.submit("ConsumerGroupHeartbeat", asked.group_id, event, make)

    def describe(
        self,
        group_ids: Sequence[str],
        make: Callable[[list[DescribedGroup | KafkaError]], T],
    ) -> Any:
        """Describe groups, see `description.describe`; as `Submitter.submit_many`. An empty id is
        answered with INVALID_GROUP_ID.
        """
        if not self.is_served:
            return make([KafkaError(ErrorCode.UNSUPPORTED_VERSION) for _ in group_ids])
        events: Iterator[tuple[str, Event]] = ((one, partial(_describe, one)) for one in group_ids)
        return self._groups.submit_many("ConsumerGroupDescribe", events, make)


@cache
def _machine(module: str) -> Any:
    return import_module(f"trio_kafka.coordinators.groups.consumer.{module}")


def _as_text(raw: bytes) -> str:
    """Return an id as Kafka writes it: 22 characters."""
    return urlsafe_b64encode(raw).decode().rstrip("=")


def _describe(group_id: str, groups: Groups, ticket: Any, now_ms: int) -> Steps[Effects]:
    if not group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
    effects: Steps[Effects] = _machine("description").describe(groups, group_id, ticket, now_ms)
    return effects
