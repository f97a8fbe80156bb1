"""Creation of a classic group by the first join.

The group gets a record without members at once, so that it is found again when its offsets are
deleted or expire. It replaces an empty consumer group of the same id.
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
    """Create the group and join it. `groups` has none of this id, or an empty one of
    another type.
    """
    before = groups.by_id.get(group_id)
    records: list[CoordinatorRecord] = [] if before is None else before.tombstones()
    group = ClassicGroup(group_id=group_id, since_ms=now_ms)
    groups.by_id[group_id] = group
    transition = Transition(group, groups.settings_of(group_id), now_ms)
    effects = join(transition, joining, ticket)

    def refused(error: KafkaError, _now_ms: int) -> Effects:
        """Undo the creation, and answer the join with the error."""
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
