"""SyncGroup (key 14): hand out the assignments of a generation.

The leader brings the assignments of all members, and each member receives its own. Waits, parked,
for the leader, and until the generation is committed. From version 5 on a member names the protocol
that it expects. Source: KIP-559.

Needs READ on the group, checked after the names of the protocol, as in Kafka.
"""

from typing import Final

from trio_kafka.coordinators.groups.classic.values import Sync, SyncAnswer
from trio_kafka.coordinators.groups.coordinator import GroupCoordinator
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.pending import Eventual, then
from trio_kafka.protocol.messages.k14_sync_group import SyncGroupRequest, SyncGroupResponse
from trio_kafka.requests.api import MANY_PARTITIONS, api
from trio_kafka.requests.context import Context
from trio_kafka.security.operations import Operation

PROTOCOL_SINCE: Final = 5
MOST_MEMBERS: Final = 10_000  # of a group, as in LeaveGroup


@api(SyncGroupRequest, largest=MANY_PARTITIONS)
def sync_group(request: SyncGroupRequest, context: Context) -> Eventual[SyncGroupResponse]:
    unsaid = request.protocol_type is None or request.protocol_name is None
    if context.version >= PROTOCOL_SINCE and unsaid:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    context.authorize(Operation.READ, group=request.group_id)
    if (count := len(request.assignments)) > MOST_MEMBERS:
        text = f"{count} assignments: expected at most {MOST_MEMBERS}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, text)
    syncing = Sync(
        request.member_id,
        request.generation_id,
        request.group_instance_id,
        request.protocol_type,
        request.protocol_name,
        {row.member_id: bytes(row.assignment) for row in request.assignments},
    )
    return then(context[GroupCoordinator].classic.sync(request.group_id, syncing), _response)


def _response(answer: SyncAnswer | KafkaError) -> SyncGroupResponse:
    if isinstance(answer, KafkaError):
        return SyncGroupResponse(error_code=answer.code)
    return SyncGroupResponse(0, 0, answer.protocol_type, answer.protocol_name, answer.assignment)
