"""Target assignments: the assignor is called, and its answer becomes records.

Source: TargetAssignmentBuilder, maybeUpdateTargetAssignment of Apache Kafka 4.4.0.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from inspect import isgenerator
from typing import Final

from trio_kafka.coordinators.groups.consumer import records
from trio_kafka.coordinators.groups.consumer.assignors.registry import BUILTIN
from trio_kafka.coordinators.groups.consumer.assignors.spec import (
    NO_PARTITIONS,
    AssignorError,
    GroupAssignment,
    GroupSpec,
    MemberSpec,
    Partitions,
)
from trio_kafka.coordinators.groups.consumer.member import Member
from trio_kafka.coordinators.groups.consumer.transition import Transition
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.model import TopicId
from trio_kafka.scheduling.chunked_work import Steps

_A_STEP: Final = 100  # members in one step: about 0.3 ms
_logger: Final = get_logger(__name__)


def preferred_assignor(transition: Transition, changed: Member | None = None) -> str:
    """Return the assignor that most members ask for, after a change of one member."""
    members = transition.group.by_id if changed is None else _members(transition, changed)
    counts = Counter(member.assignor for member in members.values() if member.assignor)
    return transition.state.assignors.preferred(counts)


def may_assign(transition: Transition) -> bool:
    """Return whether the last targets are old enough (KIP-1263). A clock that was set back counts
    as yes.
    """
    last_ms, interval_ms = (
        transition.group.assigned_ms,
        transition.settings.consumer_assignment_interval_ms,
    )
    return not last_ms or not 0 <= transition.now_ms - last_ms < interval_ms


def assign(
    transition: Transition, epoch: int, after: Member, *, homogeneous: bool
) -> Steps[Partitions]:
    """Write the targets of an epoch; return that of the member that changes.

    Raises KafkaError(UNKNOWN_SERVER_ERROR) if the assignor fails.
    """
    group = transition.group
    name = preferred_assignor(transition, after)
    members = _members(transition, after)
    spec = yield from _spec(transition, members, homogeneous=homogeneous)
    try:
        assignment = yield from _ask(transition, name, spec)
    except AssignorError as error:
        message = f"Failed to compute a new target assignment for epoch {epoch}: {error}"
        _logger.warning(
            "assignment not computed", group=group.group_id, assignor=name, reason=message
        )
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, message) from error
    for number, member_id in enumerate(members, 1):
        partitions = assignment.get(member_id, NO_PARTITIONS)
        if partitions != _target(transition, members[member_id]):
            transition.write(records.target(group.group_id, member_id, partitions))
        if number % _A_STEP == 0:
            yield
    transition.write(records.target_epoch(group.group_id, epoch, transition.now_ms))
    _logger.info(
        "group assigned", group=group.group_id, epoch=epoch, assignor=name, members=len(members)
    )
    return assignment.get(after.member_id, NO_PARTITIONS)


def _members(transition: Transition, changed: Member) -> dict[str, Member]:
    """Return all members with one that changes, maybe in the place of a static one."""
    members = dict(transition.group.by_id)
    replaced = transition.group.static_member(changed.instance_id)
    if replaced is not None and replaced.member_id != changed.member_id:
        members.pop(replaced.member_id, None)
    members[changed.member_id] = changed
    return members


def _target(transition: Transition, member: Member) -> Partitions | None:
    """Return the recorded target of a member, or None."""
    group = transition.group
    target = group.targets.get(member.member_id)
    if target is None and member.member_id not in group.by_id:
        replaced = group.static_member(member.instance_id)
        target = None if replaced is None else group.targets.get(replaced.member_id)
    return target


def existing(transition: Transition, member: Member) -> Iterator[tuple[TopicId, int]]:
    """Yield the existing topics of a subscription: ids and numbers of partitions."""
    topics = transition.state.image.topics
    for name in transition.group.subscriptions.names(member):
        topic = topics.get(name)
        if topic is not None:
            yield topic.id, len(topic.partitions)


def subscribed_topic_ids(transition: Transition, member: Member) -> set[TopicId]:
    """Return the ids of the existing topics of a subscription."""
    return {topic for topic, _ in existing(transition, member)}


def _spec(
    transition: Transition, members: Mapping[str, Member], *, homogeneous: bool
) -> Steps[GroupSpec]:
    members_by_id: dict[str, MemberSpec] = {}
    owners: dict[TopicId, dict[int, str]] = {}
    # Members of equal subscriptions share one mapping.
    topics: dict[tuple[tuple[str, ...], str], Mapping[TopicId, int]] = {}
    for member_id, member in members.items():
        assigned = _target(transition, member) or NO_PARTITIONS
        for topic, numbers in assigned.items():
            owners.setdefault(topic, {}).update(dict.fromkeys(numbers, member_id))
        subscription = (member.topics, member.regex)
        if subscription not in topics:
            topics[subscription] = dict(existing(transition, member))
        members_by_id[member_id] = MemberSpec(
            topics=topics[subscription],
            assigned=assigned,
            instance_id=member.instance_id,
            rack_id=member.rack_id,
        )
        yield  # its last target may be large
    return GroupSpec(
        members=members_by_id,
        homogeneous=homogeneous,
        owners=owners,
        racks=partial(_racks, transition.state.image),
    )


def _racks(image: MetadataImage, topic_id: TopicId, partition: int) -> frozenset[str]:
    """Return the racks of a partition's replicas, as far as their brokers name them."""
    topic = image.topic(topic_id)
    state = None if topic is None else topic.partitions.get(partition)
    brokers = () if state is None else map(image.brokers.get, state.replicas)
    return frozenset(broker.rack for broker in brokers if broker is not None and broker.rack)


def _ask(transition: Transition, name: str, spec: GroupSpec) -> Steps[GroupAssignment]:
    assignor = transition.state.assignors.get(name)
    if assignor in BUILTIN:
        steps = assignor.assign(spec)
        return (yield from steps) if isgenerator(steps) else steps  # type: ignore[return-value]
    try:
        answer = assignor.assign(spec)
        assignment = (yield from answer) if isgenerator(answer) else answer
        return (yield from _checked(assignment, spec))  # type: ignore[arg-type]
    except AssignorError:
        raise
    except Exception as error:
        _logger.exception("assignor failed", group=transition.group.group_id, assignor=name)
        raise AssignorError(f"{type(error).__name__}: {error}") from error


def _checked(assignment: GroupAssignment, spec: GroupSpec) -> Steps[GroupAssignment]:
    """Return a plugin's assignment after checks: known members, subscribed topics, existing
    partitions, none assigned twice.
    """
    assigned: set[tuple[TopicId, int]] = set()
    clean: dict[str, Partitions] = {}
    for member_id, partitions in assignment.items():
        if member_id not in spec.members:
            raise AssignorError(f"member {member_id} does not exist")
        sizes = spec.members[member_id].topics
        mine: dict[TopicId, frozenset[int]] = {}
        for topic, numbers in partitions.items():
            for number in numbers:
                if not 0 <= number < sizes.get(topic, 0):
                    raise AssignorError(
                        f"{member_id} can have no partition {number} of {topic.hex()}"
                    )
                if (topic, number) in assigned:
                    raise AssignorError(f"partition {number} of {topic.hex()} is assigned twice")
                assigned.add((topic, number))
            if numbers:
                mine[topic] = frozenset(numbers)
        clean[member_id] = mine
        yield
    return clean
