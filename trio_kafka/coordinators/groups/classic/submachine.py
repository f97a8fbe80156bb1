"""Submachine of classic groups: replay and timers."""

from collections.abc import Callable, Mapping
from typing import Final

from trio_kafka.coordinators.groups.classic import rebalance, session
from trio_kafka.coordinators.groups.classic.group import JOIN, SESSION, SYNC, ClassicGroup
from trio_kafka.coordinators.groups.classic.records import stored_group
from trio_kafka.coordinators.groups.classic.ticket_waits import ticket_waits
from trio_kafka.coordinators.groups.classic.transition import Transition
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.protocols import GroupType, Replay
from trio_kafka.coordinators.shards.effects import Effects, EventResult, Ticket, TimerKey
from trio_kafka.coordinators.shards.protocols import WaitTimes
from trio_kafka.introspect.waits import Wait
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.protocol.stored.groups.classic import GroupMetadataKey, GroupMetadataValue
from trio_kafka.scheduling.chunked_work import Steps

_OF_GROUP: Final[Mapping[str, Callable[[Transition], None]]] = {
    JOIN: rebalance.join_timed_out,
    SYNC: rebalance.sync_timed_out,
}


def simple_group(group_id: str) -> ClassicGroup:
    """Return a group that only has offsets."""
    return ClassicGroup(group_id=group_id, since_ms=None)


class ClassicGroups:
    """The submachine of classic groups."""

    group_type: Final[GroupType] = "classic"
    classic_adapter = None

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self.replays: Mapping[type, Replay] = {GroupMetadataKey: self._replay}
        self.timers = frozenset({SESSION, JOIN, SYNC})

    def _replay(self, key: GroupMetadataKey, value: GroupMetadataValue | None) -> None:
        by_id = self._groups.by_id
        if value is not None:
            by_id[key.group] = stored_group(key.group, value)
        elif isinstance(by_id.get(key.group), ClassicGroup):
            del by_id[key.group]

    def loaded(self, now_ms: int) -> Steps[Effects]:
        """Start the session of every member. A group that is too large now rebalances: its members
        can commit before some are rejected.
        """
        effects = Effects()
        for group in tuple(self._groups.by_id.values()):
            if not isinstance(group, ClassicGroup):
                continue
            transition = Transition(group, self._groups.settings_of(group.group_id), now_ms)
            for member in group.membership:
                transition.renew_session(member)
                yield
            if len(group.membership) > transition.settings.max_size:
                rebalance.prepare(
                    transition, f"{len(group.membership)} members exceed group.max.size"
                )
            effects.join(transition.effects)
            yield
        return effects

    def image_changed(self, delta: MetadataDelta, now_ms: int) -> Effects:
        """Do nothing: members watch their topics themselves."""
        del delta, now_ms
        return Effects()

    def timer(self, key: TimerKey, now_ms: int) -> EventResult:
        """Handle a timer that is due."""
        name, group_id, *rest = key
        group = self._groups.by_id.get(str(group_id))
        if not isinstance(group, ClassicGroup):
            return Effects()  # deleted or converted meanwhile
        groups = self._groups
        settings = groups.own_settings.get(group.group_id, groups.settings)
        transition = Transition(group, settings, now_ms)
        if name == SESSION:
            session.session_timed_out(transition, str(rest[0]))
        else:
            _OF_GROUP[str(name)](transition)
        return transition.done

    def waits(self, group_id: str, ticket: Ticket, times: WaitTimes) -> tuple[Wait, ...]:
        """Return what a pending join or sync waits for; empty if the group keeps no such ticket."""
        group = self._groups.by_id.get(group_id)
        return ticket_waits(group, ticket, times) if isinstance(group, ClassicGroup) else ()
