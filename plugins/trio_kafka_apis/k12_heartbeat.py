"""Heartbeat (key 12): keep the session of a classic group member alive.

Waits only while a change of the group is not committed yet. A member learns of a rebalance by
REBALANCE_IN_PROGRESS, never by silence. While the group is being loaded every heartbeat succeeds.

Needs READ on the group.
"""

from typing import Final

from trio_kafka.coordinators.groups.classic.values import ClassicHeartbeat
from trio_kafka.coordinators.groups.coordinator import GroupCoordinator
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.pending import Eventual, then
from trio_kafka.protocol.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.security.operations import Operation

_ALIVE: Final = HeartbeatResponse()  # shared: a response is never changed


@api(HeartbeatRequest)
def heartbeat(request: HeartbeatRequest, context: Context) -> Eventual[HeartbeatResponse]:
    context.authorize(Operation.READ, group=request.group_id)
    beating = ClassicHeartbeat(request.member_id, request.group_instance_id, request.generation_id)
    return then(context[GroupCoordinator].classic.heartbeat(request.group_id, beating), _response)


def _response(error: KafkaError | None) -> HeartbeatResponse:
    if error is None or error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        return _ALIVE
    return HeartbeatResponse(error_code=error.code)
