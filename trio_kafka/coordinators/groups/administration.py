"""Administrative events of a shard: list groups (KIP-518, KIP-848) and delete a group."""

from collections.abc import Collection
from typing import Final, NamedTuple

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.shards.effects import Effects, Ticket
from trio_kafka.introspect.log import get_logger
from trio_kafka.scheduling.chunked_work import Steps

_A_STEP: Final = 200  # groups: about 0.1 ms
_logger: Final = get_logger(__name__)


class ListedGroup(NamedTuple):
    """One group in the answer. state, type: as Kafka's tools print them."""

    group_id: str
    protocol_type: str
    state: str
    type: str


def _lower(texts: Collection[str]) -> frozenset[str]:
    return frozenset(text.strip().lower() for text in texts)


@frozen
class GroupFilter:
    """Filter of listed groups. An empty set matches everything; case does not matter."""

    states: frozenset[str] = field(default=(), converter=_lower)
    types: frozenset[str] = field(default=(), converter=_lower)

    def wants(self, state: str, kind: str) -> bool:
        return (not self.states or state.lower() in self.states) and (
            not self.types or kind in self.types
        )


def list_groups(chosen: GroupFilter, groups: Groups, ticket: Ticket, now_ms: int) -> Steps[Effects]:
    """Answer with a list of ListedGroup."""
    del now_ms
    listed: list[ListedGroup] = []
    for number, group in enumerate(tuple(groups.by_id.values()), 1):
        if chosen.wants(group.state, group.type):
            listed.append(ListedGroup(group.group_id, group.protocol_type, group.state, group.type))
        if number % _A_STEP == 0:
            yield
    return Effects().answer(ticket, listed)


def delete_group(group_id: str, groups: Groups, ticket: Ticket, now_ms: int) -> Effects:
    """Delete an empty group with its offsets, and answer with None.

    Tombstones of many offsets may become several batches. After a crash between two of them, a
    second request deletes the rest.
    Raises KafkaError: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP.
    """
    del now_ms
    group = groups.group(group_id)
    group.validate_delete()
    effects = Effects(atomic=False)
    effects.records += groups.offsets.tombstones(group_id)
    _logger.info("group deleted", group=group_id, offsets=len(effects.records))
    effects.records += group.tombstones()
    return effects.answer(ticket, None)
