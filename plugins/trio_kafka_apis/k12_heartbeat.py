"""Heartbeat (key 12): keep the session of a classic group member alive.

Waits only while a change of the group is not committed yet. A member learns of a rebalance by
REBALANCE_IN_PROGRESS, never by silence. While the group is being loaded every heartbeat succeeds.

Needs READ on the group.
"""

from typing import Final

from trio_kafka.plugin import (
    Beating,
    Context,
    ErrorCode,
    Eventual,
    KafkaError,
    Operation,
    api,
    then,
)
from trio_kafka.protocol.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse

_ALIVE: Final = HeartbeatResponse()  # shared: a response is never changed


@api(HeartbeatRequest)
def heartbeat(request: HeartbeatRequest, context: Context) -> Eventual[HeartbeatResponse]:
    context.authorize(Operation.READ, group=request.group_id)
    beating = Beating(request.member_id, request.group_instance_id, request.generation_id)
    return then(context.groups.classic.heartbeat(request.group_id, beating), _response)


def _response(error: KafkaError | None) -> HeartbeatResponse:
    if error is None or error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        return _ALIVE
    return HeartbeatResponse(error_code=error.code)
