"""A join to a group that is not there yet makes it, as a classic group.

It gets a record at once, without members, so that it can be found again when its offsets are
deleted or expire. An empty consumer group of that name makes room for it.
"""

from typing import Final

from trio_kafka.coordinators.effects import CoordinatorRecord, Effects, Ticket
from trio_kafka.coordinators.groups.classic.group import ClassicGroup
from trio_kafka.coordinators.groups.classic.joining import join
from trio_kafka.coordinators.groups.classic.records import empty_group_record
from trio_kafka.coordinators.groups.classic.transition import Transition
from trio_kafka.coordinators.groups.classic.values import NO_MEMBER_ID, Joined, Joining
from trio_kafka.coordinators.groups.expiry import schedule_expiry
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.errors import KafkaError
from trio_kafka.introspect.log import get_logger

_logger: Final = get_logger(__name__)


def open_group(
    groups: Groups, group_id: str, joining: Joining, ticket: Ticket, now_ms: int
) -> Effects:
    """As `join`, to a new group. `groups` has none of this id, or an empty one of another kind."""
    before = groups.by_id.get(group_id)
    records: list[CoordinatorRecord] = [] if before is None else before.tombstones()
    group = ClassicGroup(group_id=group_id, since_ms=now_ms)
    groups.by_id[group_id] = group
    transition = Transition(group, groups.settings_of(group_id), now_ms)
    effects = join(transition, joining, ticket)

    def refused(error: KafkaError, _now_ms: int) -> Effects:
        """There is no such group: whoever came is told, nothing is due any more."""
        _logger.warning("group could not be made", group=group_id, reason=str(error))
        if before is None:
            del groups.by_id[group_id]
        else:
            groups.by_id[group_id] = before
        effects = Effects()
        for key in group.timers():
            effects.cancel_timer(key)
        return effects.answer(ticket, Joined(member_id=NO_MEMBER_ID, error=error.code))

    effects.records = [*records, empty_group_record(group)]
    effects.replays, effects.refused = False, refused
    schedule_expiry(effects, groups.settings)
    return effects
