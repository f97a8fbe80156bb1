"""Description of a consumer group for tools. Source: ConsumerGroup.asDescribedGroup."""

from trio_kafka.coordinators.groups.consumer.assignors.spec import Partitions
from trio_kafka.coordinators.groups.consumer.group import ConsumerGroup
from trio_kafka.coordinators.groups.consumer.member import Member
from trio_kafka.coordinators.groups.consumer.shard_state import ConsumerShardState
from trio_kafka.coordinators.groups.consumer.target_assignment import preferred_assignor
from trio_kafka.coordinators.groups.consumer.transition import Transition
from trio_kafka.coordinators.groups.consumer.values import (
    DescribedGroup,
    DescribedMember,
    DescribedTopic,
)
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.shards.effects import Effects, Ticket
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.scheduling.chunked_work import Steps

_A_STEP = 500  # members, and topics in their assignments


def describe(groups: Groups, group_id: str, ticket: Ticket, now_ms: int) -> Steps[Effects]:
    """Describe a group; answer with DescribedGroup. Raises KafkaError(GROUP_ID_NOT_FOUND)."""
    state = ConsumerShardState.of(groups)
    group = state.existing(group_id)
    members: list[DescribedMember] = []
    size = 0
    for member in tuple(group.by_id.values()):
        described_member = _member(group, member, state.image)
        members.append(described_member)
        size += 1 + len(described_member.assigned) + len(described_member.target)
        if size >= _A_STEP:
            size = 0
            yield
    described = DescribedGroup(
        group_id=group_id,
        state=group.state,
        epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor=preferred_assignor(Transition.begin(state, group, now_ms)),
        members=members,
    )
    return Effects().answer(ticket, described)


def _member(group: ConsumerGroup, member: Member, image: MetadataImage) -> DescribedMember:
    has = {topic: set(numbers) for topic, numbers in member.assigned.items()}
    for topic, numbers in member.revoking.items():
        has.setdefault(topic, set()).update(numbers)
    return DescribedMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        topics=member.topics,
        regex=member.regex,
        assigned=_topics(has, image),
        target=_topics(group.targets.get(member.member_id, {}), image),
        classic=member.classic is not None,
    )


def _topics(partitions: Partitions, image: MetadataImage) -> list[DescribedTopic]:
    """Return partitions with topic names, without deleted topics."""
    return [
        DescribedTopic(topic_id, name, sorted(partitions[topic_id]))
        for topic_id in sorted(partitions)
        if (name := image.topic_names.get(topic_id)) is not None
    ]
