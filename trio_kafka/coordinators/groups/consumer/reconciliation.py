"""Reconciliation of a member with its target, one step for each heartbeat.

A member first revokes partitions that are not in its target; until then it stays in its epoch. Then
it gets the free ones, and waits for those that others still own. So no partition has two owners.
Source: CurrentAssignmentBuilder of Apache Kafka 4.4.0.
"""

from collections.abc import Callable, Container, Mapping, Sequence

from trio_kafka.attributes import define
from trio_kafka.coordinators.groups.consumer.assignors.spec import Partitions
from trio_kafka.coordinators.groups.consumer.member import NOTHING, Member, MemberState, Owned
from trio_kafka.coordinators.groups.consumer.values import OwnedTopic
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import TopicId

_NONE: Mapping[int, int] = {}


@define
class Goal:
    """Target of a step. Never changed.

    epoch, partitions: of the target. subscribed: ids of existing topics that it subscribes to.
    resubscribed: the subscription has changed with this heartbeat. is_free: whether a partition has
    no owner. owned: partitions that the member says it owns; None: not sent.
    """

    epoch: int
    partitions: Partitions
    subscribed: Container[TopicId]
    resubscribed: bool
    is_free: Callable[[TopicId, int], bool]
    owned: Sequence[OwnedTopic] | None


def reconcile(member: Member, goal: Goal) -> Member:
    """Return the member after its next step; itself if there is none.

    Raises KafkaError(FENCED_MEMBER_EPOCH) for a member in an unknown state, unless it owns nothing.
    """
    if not goal.resubscribed and member.is_reconciled(goal.epoch):
        return member
    match member.state:
        case MemberState.STABLE:
            stays = member.epoch == goal.epoch
        case MemberState.UNREVOKED_PARTITIONS:
            stays = _owns(goal.owned, member.revoking)
        case MemberState.UNRELEASED_PARTITIONS:
            stays = False
        case _:
            if goal.owned is None or goal.owned:
                raise KafkaError(
                    ErrorCode.FENCED_MEMBER_EPOCH,
                    "The consumer group member is in a unknown state. "
                    "The member must abandon all its partitions and rejoin.",
                )
            return _next(member, goal, goal.epoch)
    if not stays:
        return _next(member, goal, member.epoch)
    return _only_subscribed(member, goal) if goal.resubscribed else member


def _next(member: Member, goal: Goal, epoch: int) -> Member:
    """Compare the whole assignment with the whole target."""
    keeps: dict[TopicId, Mapping[int, int]] = {}
    returns: dict[TopicId, Mapping[int, int]] = {}
    gets: dict[TopicId, list[int]] = {}
    waits = False
    for topic in {**goal.partitions, **member.assigned}:
        # An unsubscribed topic is given up, even if the target has it.
        shall = goal.partitions.get(topic, ()) if topic in goal.subscribed else ()
        has = member.assigned.get(topic, _NONE)
        if has and has.keys() == shall:  # nearly always
            keeps[topic] = has
            continue
        kept = {number: since for number, since in has.items() if number in shall}
        if kept:
            keeps[topic] = kept
        if len(kept) < len(has):
            returns[topic] = {number: since for number, since in has.items() if number not in kept}
        if len(kept) < len(shall):
            missing = [number for number in shall if number not in kept]
            own = member.revoking.get(topic, _NONE)
            free = [number for number in missing if number in own or goal.is_free(topic, number)]
            waits = waits or len(free) < len(missing)
            if free:
                gets[topic] = free
    if returns and _owns(goal.owned, returns):
        revokes = member.moved(MemberState.UNREVOKED_PARTITIONS, epoch, keeps, returns)
        return _unless_same(member, revokes)
    for topic, numbers in gets.items():
        keeps[topic] = {**keeps.get(topic, _NONE), **dict.fromkeys(numbers, goal.epoch)}
    state = MemberState.UNRELEASED_PARTITIONS if waits else MemberState.STABLE
    same = not gets and not returns and len(keeps) == len(member.assigned)
    # The same object if nothing changed: comparisons are quick then.
    assigned = member.assigned if same else keeps
    return _unless_same(member, member.moved(state, goal.epoch, assigned, NOTHING))


def _only_subscribed(member: Member, goal: Goal) -> Member:
    """Return the member without unsubscribed topics; the target is not considered."""
    unsubscribed = {
        topic: numbers for topic, numbers in member.assigned.items() if topic not in goal.subscribed
    }
    if not unsubscribed:
        return member
    keeps = {
        topic: member.assigned[topic] for topic in member.assigned if topic not in unsubscribed
    }
    returns: dict[TopicId, Mapping[int, int]] = dict(member.revoking)
    for topic, numbers in unsubscribed.items():
        returns[topic] = {**returns.get(topic, _NONE), **numbers}
    if _owns(goal.owned, returns):
        return member.moved(MemberState.UNREVOKED_PARTITIONS, member.epoch, keeps, returns)
    return member.moved(member.state, member.epoch, keeps, member.revoking)


def _owns(owned: Sequence[OwnedTopic] | None, partitions: Owned) -> bool:
    """Return whether the member may own any of them."""
    if owned is None:
        return True
    return any(
        number in partitions.get(TopicId(topic), _NONE)
        for topic, numbers in owned
        for number in numbers
    )


def _unless_same(before: Member, after: Member) -> Member:
    """Return the old object if nothing has changed."""
    same = (
        before.state is after.state
        and before.epoch == after.epoch
        and before.previous_epoch == after.previous_epoch
        and before.assigned == after.assigned
        and before.revoking == after.revoking
    )
    return before if same else after
