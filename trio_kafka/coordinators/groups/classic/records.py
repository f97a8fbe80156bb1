"""Record of a classic group, to and from; topics that its members subscribe to.

Source: GroupMetadataValue; ConsumerProtocolSubscription, whose later versions begin like version 0.
"""

from struct import Struct
from typing import Final

from trio_kafka.coordinators.groups.bounded_decode import decode
from trio_kafka.coordinators.groups.classic.group import CONSUMER, ClassicGroup
from trio_kafka.coordinators.groups.classic.membership import Member
from trio_kafka.coordinators.groups.classic.states import ClassicState
from trio_kafka.coordinators.groups.classic.values import GroupProtocol
from trio_kafka.coordinators.shards.effects import CoordinatorRecord
from trio_kafka.introspect.log import get_logger
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.stored.consumer_protocol import ConsumerProtocolSubscription
from trio_kafka.protocol.stored.groups.classic import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
)
from trio_kafka.scheduling.chunked_work import Steps, whole

_NEVER: Final = -1
_A_STEP: Final = 100  # members in one step: 0.4 ms
_INT16: Final = Struct(">h")
_logger: Final = get_logger(__name__)


def group_record(group: ClassicGroup, assignments: dict[str, bytes]) -> Steps[CoordinatorRecord]:
    """Return the record of the generation. Members without an assignment get an empty one."""
    members: list[MemberMetadata] = []
    value = GroupMetadataValue(
        protocol_type=group.protocol_type,
        generation=group.generation,
        protocol=group.protocol_name,
        leader=group.leader,
        current_state_timestamp=_NEVER if group.since_ms is None else group.since_ms,
        members=members,
    )
    for member in group.membership:
        members.append(
            MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.metadata(group.protocol_name),
                assignment=assignments.get(member.member_id, b""),
            )
        )
        if not len(members) % _A_STEP:
            yield
    return CoordinatorRecord(GroupMetadataKey(group.group_id), value)


def stored_group(group_id: str, value: GroupMetadataValue) -> ClassicGroup:
    """Return the group of a record: stable or empty. Of each member's protocols only the elected
    one is known.
    """
    at_ms = value.current_state_timestamp
    group = ClassicGroup(
        group_id=group_id,
        phase=ClassicState.STABLE if value.members else ClassicState.EMPTY,
        since_ms=None if at_ms == _NEVER else at_ms,
        generation=value.generation,
        protocol_type=value.protocol_type,
        protocol_name=value.protocol,
        leader=value.leader,
    )
    for member in value.members:
        group.add(_stored_member(value, member))
    group.topics = whole(subscribed_topics(group))
    return group


def _stored_member(value: GroupMetadataValue, stored: MemberMetadata) -> Member:
    timeout_ms = stored.rebalance_timeout
    return Member(
        member_id=stored.member_id,
        instance_id=stored.group_instance_id,
        client_id=stored.client_id,
        client_host=stored.client_host,
        rebalance_timeout_ms=stored.session_timeout if timeout_ms == _NEVER else timeout_ms,
        session_timeout_ms=stored.session_timeout,
        protocol_type=value.protocol_type,
        protocols=(GroupProtocol(value.protocol or "", bytes(stored.subscription)),),
        assignment=bytes(stored.assignment),
    )


def subscribed_topics(group: ClassicGroup) -> Steps[frozenset[str] | None]:
    """Return the topics that consumers subscribe to; None for other or unreadable protocols."""
    if group.protocol_type != CONSUMER:
        return None
    if not group.membership.by_id:
        return frozenset()
    if group.protocol_name is None:
        return None
    topics: set[str] = set()
    decoded: set[bytes] = set()  # most members have equal metadata
    try:
        for number, member in enumerate(group.membership.by_id.values(), 1):
            metadata = member.metadata(group.protocol_name)
            if metadata not in decoded:
                decoded.add(metadata)
                topics.update(_topics(metadata))
            if not number % _A_STEP:
                yield
    except (DecodeError, LookupError) as error:
        _logger.warning(
            "group subscription not decoded",
            group=group.group_id,
            protocol=group.protocol_name,
            reason=str(error),
        )
        return None
    return frozenset(topics)


def _topics(metadata: bytes) -> list[str]:
    if len(metadata) < _INT16.size:
        raise DecodeError(
            f"subscription of {len(metadata)} bytes: expected at least 2 for the version"
        )
    version = _INT16.unpack_from(metadata)[0]
    if version < 0:
        raise DecodeError(f"subscription of version {version}: expected 0 or more")
    return decode(ConsumerProtocolSubscription, 0, metadata, _INT16.size).topics
