"""All groups of a shard, as tools list them: filtered by state and by type (KIP-518, KIP-848)."""

from collections.abc import Collection
from typing import Final, NamedTuple

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.coordinators.effects import Effects, Ticket
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.scheduling.chunked_work import Steps

_A_STEP: Final = 200  # groups: some 0.1 ms


class ListedGroup(NamedTuple):
    """One group. state, type: as tools show them."""

    group_id: str
    protocol_type: str
    state: str
    type: str


def _lower(texts: Collection[str]) -> frozenset[str]:
    return frozenset(text.strip().lower() for text in texts)


@frozen
class GroupFilter:
    """Which groups are wanted: none named is all; case does not matter."""

    states: frozenset[str] = field(default=(), converter=_lower)
    types: frozenset[str] = field(default=(), converter=_lower)

    def wants(self, state: str, kind: str) -> bool:
        return (not self.states or state.lower() in self.states) and (
            not self.types or kind in self.types
        )


def list_groups(groups: Groups, wanted: GroupFilter, ticket: Ticket, now_ms: int) -> Steps[Effects]:
    """Answer: a list of ListedGroup."""
    del now_ms
    found: list[ListedGroup] = []
    for number, group in enumerate(tuple(groups.by_id.values()), 1):
        if wanted.wants(group.state, group.type):
            found.append(ListedGroup(group.group_id, group.protocol_type, group.state, group.type))
        if number % _A_STEP == 0:
            yield
    return Effects().answer(ticket, found)
