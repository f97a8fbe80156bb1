"""A classic group ends while members wait: it is deleted, or becomes a group of another kind."""

from trio_kafka.coordinators.effects import Effects
from trio_kafka.coordinators.groups.classic.act import Act
from trio_kafka.coordinators.groups.classic.group import ClassicGroup
from trio_kafka.coordinators.groups.classic.states import ClassicState
from trio_kafka.coordinators.groups.settings import DEFAULT_GROUP_SETTINGS
from trio_kafka.errors import ErrorCode, KafkaError


def dismiss(group: ClassicGroup, error: ErrorCode, now_ms: int) -> Effects:
    """Whoever waits is told the error, under the id that it has; nothing is due any more. The group
    is Dead: it is no longer to be found under its id.
    """
    act = Act(group, DEFAULT_GROUP_SETTINGS, now_ms)
    for member in group.roster:
        act.refuse_join(member, error, member.member_id)
        act.answer_sync(member, KafkaError(error))
    for key in group.timers():
        act.effects.cancel_timer(key)
    group.enter(ClassicState.DEAD, now_ms)
    return act.effects
