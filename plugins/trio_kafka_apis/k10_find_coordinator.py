"""FindCoordinator (key 10): the broker that coordinates a group or a transactional id.

Never waits. A group is coordinated by whoever leads its partition of the offsets topic, which is
created when somebody asks and it is not there: until then COORDINATOR_NOT_AVAILABLE, which clients
retry. A key that is named twice is answered once. There are no
transactions and no share groups: their coordinators are not available.
As by Kafka no message is ever null: before version 4 it names the code, also that of no error.
Source: KIP-699 (many keys), KIP-932 (share groups).
"""

from typing import Final

from trio_kafka.plugin import (
    NO_NODE,
    Context,
    ErrorCode,
    KafkaError,
    NodeEndpoint,
    api,
    endpoint_on,
    rows_of,
)
from trio_kafka.protocol.messages.k10_find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

GROUP: Final = 0
TRANSACTION: Final = 1
SHARE: Final = 2
MANY_SINCE: Final = 4
SHARE_SINCE: Final = 6


def say_error(
    request: FindCoordinatorRequest, code: ErrorCode, message: str | None
) -> FindCoordinatorResponse:
    """The error for every key, and nowhere to go."""
    if not request.coordinator_keys:  # before version 4 there is one key, and one answer
        return FindCoordinatorResponse(
            error_code=code, error_message=message or code.name, node_id=NO_NODE, port=-1
        )
    return FindCoordinatorResponse(
        coordinators=rows_of(request.coordinator_keys, lambda key: _nowhere(key, code, message))
    )


def _nowhere(key: str, code: ErrorCode, message: str | None) -> Coordinator:
    return Coordinator(key, NO_NODE, "", -1, code, message or "")


@api(FindCoordinatorRequest, error=say_error)
def find_coordinator(request: FindCoordinatorRequest, context: Context) -> FindCoordinatorResponse:
    if context.version < MANY_SINCE:
        found = _find(request.key_type, request.key, context)
        return FindCoordinatorResponse(
            error_message=ErrorCode.NONE.name, node_id=found.node, host=found.host, port=found.port
        )
    return FindCoordinatorResponse(
        coordinators=rows_of(
            tuple(dict.fromkeys(request.coordinator_keys)),
            lambda key: _row(request.key_type, key, context),
        )
    )


def _row(kind: int, key: str, context: Context) -> Coordinator:
    try:
        found = _find(kind, key, context)
    except KafkaError as error:
        return _nowhere(key, error.code, error.message)
    return Coordinator(key, found.node, found.host, found.port)


def _find(kind: int, key: str, context: Context) -> NodeEndpoint:
    """Raises KafkaError: INVALID_REQUEST for an unknown kind, COORDINATOR_NOT_AVAILABLE."""
    if kind not in (GROUP, TRANSACTION) and not (kind == SHARE and context.version >= SHARE_SINCE):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"key type {kind}")
    if kind != GROUP:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    leader = context.groups.leader_of(key)
    found = endpoint_on(context.metadata.image, leader, context.listener)
    if found is None or found.fenced:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return found
