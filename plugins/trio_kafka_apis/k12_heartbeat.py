"""Heartbeat (key 12): a member of a classic group says that it lives.

Waits only where something of the group is not committed yet. A member learns of a rebalance by
REBALANCE_IN_PROGRESS, never by silence. While the group is being loaded everybody lives.
"""

from typing import Any, Final

from trio_kafka.plugin import Beating, Context, ErrorCode, KafkaError, api
from trio_kafka.protocol.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse

_LIVES: Final = HeartbeatResponse()  # nobody changes an answer


@api(HeartbeatRequest)
def heartbeat(request: HeartbeatRequest, context: Context) -> Any:
    beating = Beating(request.member_id, request.group_instance_id, request.generation_id)
    return context.groups.classic.heartbeat(request.group_id, beating, _response)


def _response(error: KafkaError | None) -> HeartbeatResponse:
    if error is None or error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        return _LIVES
    return HeartbeatResponse(error_code=error.code)
