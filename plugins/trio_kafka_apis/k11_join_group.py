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
from trio_kafka.coordinators.groups.client_address import client_host
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
    version, asking = context.version, context.request
    rebalance_ms = request.rebalance_timeout_ms
    if version < REBALANCE_TIMEOUT_SINCE:
        rebalance_ms = request.session_timeout_ms
    joining = Join(
        request.member_id,
        asking.client_id,
        client_host(asking.connection.peer.host),
        request.session_timeout_ms,
        rebalance_ms,
        request.protocol_type,
        tuple([GroupProtocol(one.name, bytes(one.metadata)) for one in request.protocols]),
        request.group_instance_id,
        request.reason,
        "" if request.member_id else context[GroupCoordinator].new_id(),
        version >= ID_FIRST_SINCE,
        version >= SKIPS_SINCE,
        None if context.allows_all else partial(_may_describe, context),
    )
    respond = _response if version >= NULL_PROTOCOL_SINCE else _old_response
    return then(context[GroupCoordinator].classic.join(request.group_id, joining), respond)


def _may_describe(context: Context, topic: str) -> bool:
    return context.is_authorized(Operation.DESCRIBE, topic=topic)


def _old_response(answer: JoinAnswer | KafkaError) -> JoinGroupResponse:
    return _response(answer, "")


def _response(answer: JoinAnswer | KafkaError, nameless: str | None = None) -> JoinGroupResponse:
    """Return the response. nameless: name of the protocol if there is none."""
    if isinstance(answer, KafkaError):
        return JoinGroupResponse(error_code=answer.code, protocol_name=nameless)
    return JoinGroupResponse(
        0,
        answer.error,
        answer.generation,
        answer.protocol_type,
        answer.protocol_name or nameless,
        answer.leader,
        answer.skip_assignment,
        answer.member_id,
        [
            JoinGroupResponseMember(one.member_id, one.instance_id, one.metadata)
            for one in answer.members
        ],
    )
