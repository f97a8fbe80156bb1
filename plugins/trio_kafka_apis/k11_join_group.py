"""JoinGroup (key 11): become a member of a classic group, or stay one.

Waits, parked, until all members have joined and the next generation begins. From version 4 on a new
member first gets an id to join with (MEMBER_ID_REQUIRED). Only the leader receives the members.
Before version 1 a rebalance lasts at most as long as a session.
Source: KIP-62, KIP-345, KIP-394, KIP-800, KIP-814.

Needs READ on the group. A join can start a search for the topics of a regular expression in a
consumer group; it matches only topics that this client may describe.
"""

from functools import partial
from typing import Final

from trio_kafka.coordinators.groups.classic.values import GroupProtocol, Join, JoinAnswer
from trio_kafka.coordinators.groups.coordinator import GroupCoordinator
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.pending import Eventual, then
from trio_kafka.protocol.messages.k11_join_group import (
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.security.operations import Operation

REBALANCE_TIMEOUT_SINCE: Final = 1
ID_FIRST_SINCE: Final = 4  # KIP-394
NULL_PROTOCOL_SINCE: Final = 7
SKIPS_SINCE: Final = 9  # KIP-814
MOST_PROTOCOLS: Final = 1000  # of one member; clients send a few


def say_error(_: JoinGroupRequest, code: ErrorCode, message: str | None) -> JoinGroupResponse:
    """Return the error without generation and leader."""
    del message
    return JoinGroupResponse(error_code=code, protocol_name="")


@api(JoinGroupRequest, error=say_error)
def join_group(request: JoinGroupRequest, context: Context) -> Eventual[JoinGroupResponse]:
    context.authorize(Operation.READ, group=request.group_id)
    if len(request.protocols) > MOST_PROTOCOLS:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    version = context.version
    rebalance_ms = request.rebalance_timeout_ms
    if version < REBALANCE_TIMEOUT_SINCE:
        rebalance_ms = request.session_timeout_ms
    protocols = [
        GroupProtocol(protocol.name, bytes(protocol.metadata)) for protocol in request.protocols
    ]
    coordinator = context[GroupCoordinator]
    join = Join(
        member_id=request.member_id,
        client_id=context.client_id,
        client_host=context.client_host,
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=rebalance_ms,
        protocol_type=request.protocol_type,
        protocols=tuple(protocols),
        instance_id=request.group_instance_id,
        reason=request.reason,
        fresh="" if request.member_id else coordinator.new_id(),
        asks_for_id=version >= ID_FIRST_SINCE,
        skips_assignment=version >= SKIPS_SINCE,
        may_describe=None if context.allows_all else partial(_may_describe, context),
    )
    respond = _response if version >= NULL_PROTOCOL_SINCE else _old_response
    return then(coordinator.classic.join(request.group_id, join), respond)


def _may_describe(context: Context, topic: str) -> bool:
    return context.is_authorized(Operation.DESCRIBE, topic=topic)


def _old_response(answer: JoinAnswer | KafkaError) -> JoinGroupResponse:
    return _response(answer, "")


def _response(answer: JoinAnswer | KafkaError, nameless: str | None = None) -> JoinGroupResponse:
    """Return the response. nameless: name of the protocol if there is none."""
    if isinstance(answer, KafkaError):
        return JoinGroupResponse(error_code=answer.code, protocol_name=nameless)
    return JoinGroupResponse(
        error_code=answer.error,
        generation_id=answer.generation,
        protocol_type=answer.protocol_type,
        protocol_name=answer.protocol_name or nameless,
        leader=answer.leader,
        skip_assignment=answer.skip_assignment,
        member_id=answer.member_id,
        members=[
            JoinGroupResponseMember(member.member_id, member.instance_id, member.metadata)
            for member in answer.members
        ],
    )
