"""What handlers ask of consumer groups: `context.groups.consumer`.

The machine is imported when the first shard is made, or the first member comes: it takes 20 ms.
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
HEARTBEAT: Final = "ConsumerGroupHeartbeat"
DESCRIBE: Final = "ConsumerGroupDescribe"
_FEATURE: Final = "group.version"
_PROTOCOL: Final = "consumer"


class ConsumerService:
    """assignors: that members can ask for; plugins may bring some. is_served: whether the cluster
    has consumer groups: `group.version`, and `group.coordinator.rebalance.protocols`.
    """

    def __init__(
        self,
        coordinator: Submitter,
        random_bytes: Callable[[int], bytes],
    ) -> None:
        """random_bytes: for ids of members that have none."""
        self.assignors = Assignors(coordinator.settings.consumer_assignors)
        self._coordinator = coordinator
        self._random_bytes = random_bytes
        self.is_served = False

    def kind(self, groups: Groups) -> "ConsumerGroups":
        """The consumer groups of one shard."""
        made: ConsumerGroups = _machine("submachine").ConsumerGroups(groups, self.assignors)
        return made

    def follow(self, image: MetadataImage) -> None:
        """Settings or features have changed."""
        protocols = self._coordinator.settings.protocols
        self.is_served = _PROTOCOL in protocols and image.features.get(_FEATURE, 0) >= 1

    def heartbeat(self, asked: Heartbeat, make: Callable[[HeartbeatAnswer], T]) -> Any:
        """See `heartbeat.heartbeat`; as `GroupCoordinator.submit`.

        Raises KafkaError(UNSUPPORTED_VERSION) too, and first what is wrong with the request.
        """
        if not self.is_served:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        names = () if asked.assignor is None else self.assignors.names
        _machine("validation").check_heartbeat(asked, names)
        if not asked.member_id:
            asked = evolve(asked, fresh=_as_text(self._random_bytes(16)))
        event, groups = partial(_machine("heartbeat").heartbeat, asked), self._coordinator
        return groups.submit(HEARTBEAT, asked.group_id, event, make, timeout_s=groups.timeout_s)

    def describe(
        self,
        group_ids: Sequence[str],
        make: Callable[[list[DescribedGroup | KafkaError]], T],
    ) -> Any:
        """See `describing.describe`; as `GroupCoordinator.submit_many`. An empty id has its own
        error: INVALID_GROUP_ID.
        """
        if not self.is_served:
            return make([KafkaError(ErrorCode.UNSUPPORTED_VERSION) for _ in group_ids])
        events: Iterator[tuple[str, Event]] = ((one, partial(_describe, one)) for one in group_ids)
        groups = self._coordinator
        return groups.submit_many(DESCRIBE, events, make, timeout_s=groups.timeout_s)


@cache
def _machine(module: str) -> Any:
    return import_module(f"trio_kafka.coordinators.groups.consumer.{module}")


def _as_text(raw: bytes) -> str:
    """An id as Kafka writes it: 22 characters."""
    return urlsafe_b64encode(raw).decode().rstrip("=")


def _describe(group_id: str, groups: Groups, ticket: Any, now_ms: int) -> Steps[Effects]:
    if not group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
    effects: Steps[Effects] = _machine("description").describe(groups, group_id, ticket, now_ms)
    return effects
