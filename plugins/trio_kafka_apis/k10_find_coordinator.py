"""FindCoordinator (key 10): find the broker that coordinates a group or a transactional id.

Never waits. The coordinator of a group is the leader of its partition of the offsets topic, that of
a transactional id the leader of its partition of `__transaction_state`. If the topic does not
exist, it is created, and clients get COORDINATOR_NOT_AVAILABLE, which they retry. A key that is
named twice is answered once. Share groups are not served: their coordinator is not available. The
message is never null, as in Kafka: before version 4 it is the name of the code, also without an
error. Source: KIP-699 (many keys), KIP-932 (share groups).

Needs DESCRIBE on the group or the transactional id; for share groups CLUSTER_ACTION on the cluster.
"""

from typing import Final

from trio_kafka.coordinators.groups.coordinator import GroupCoordinator
from trio_kafka.coordinators.transactions.coordinator import TransactionCoordinator
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.endpoints import NodeEndpoint, endpoint_on
from trio_kafka.model import NO_NODE
from trio_kafka.protocol.messages.k10_find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import rows_of
from trio_kafka.security.operations import Operation

GROUP: Final = 0
TRANSACTION: Final = 1
SHARE: Final = 2
MANY_SINCE: Final = 4
SHARE_SINCE: Final = 6


def say_error(
    request: FindCoordinatorRequest, code: ErrorCode, message: str | None
) -> FindCoordinatorResponse:
    """Return the error for each key."""
    if not request.coordinator_keys:  # before version 4 there is one key, and one error
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
        endpoint = _find(request.key_type, request.key, context)
        return FindCoordinatorResponse(
            error_message=ErrorCode.NONE.name,
            node_id=endpoint.node,
            host=endpoint.host,
            port=endpoint.port,
        )
    return FindCoordinatorResponse(
        coordinators=rows_of(
            tuple(dict.fromkeys(request.coordinator_keys)),
            lambda key: _row(request.key_type, key, context),
        )
    )


def _row(kind: int, key: str, context: Context) -> Coordinator:
    try:
        endpoint = _find(kind, key, context)
    except KafkaError as error:
        return _nowhere(key, error.code, error.message)
    return Coordinator(key, endpoint.node, endpoint.host, endpoint.port)


def _find(kind: int, key: str, context: Context) -> NodeEndpoint:
    """Return the coordinator of a key.

    Raises KafkaError: INVALID_REQUEST for an unknown type of key, COORDINATOR_NOT_AVAILABLE, or
    what denies the request.
    """
    if kind not in (GROUP, TRANSACTION) and not (kind == SHARE and context.version >= SHARE_SINCE):
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"key type {kind}: expected 0 (group) or 1 (transactional id)",
        )
    if kind == GROUP:
        context.authorize(Operation.DESCRIBE, group=key)
    elif kind == TRANSACTION:
        context.authorize(Operation.DESCRIBE, transactional_id=key)
    else:
        context.authorize(Operation.CLUSTER_ACTION, cluster=True)
    if kind == SHARE:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if kind == GROUP:
        leader = context[GroupCoordinator].topic.leader_of(key)
    else:
        leader = context[TransactionCoordinator].topic.leader_of(key)
    endpoint = endpoint_on(context.image, leader, context.listener)
    if endpoint is None or endpoint.fenced:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return endpoint
