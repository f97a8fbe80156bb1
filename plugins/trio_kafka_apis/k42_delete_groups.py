"""DeleteGroups (key 42): delete groups without members, and their offsets.

Waits, parked, until the tombstones are committed. A group that is named twice is deleted once.
Source: KIP-229.

Needs DELETE on each group.
"""

from trio_kafka.coordinators.groups.coordinator import GroupCoordinator
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.pending import Eventual, then
from trio_kafka.protocol.messages.k42_delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import rows_of
from trio_kafka.security.operations import Operation


def say_error(
    request: DeleteGroupsRequest, code: ErrorCode, message: str | None
) -> DeleteGroupsResponse:
    """Return the error for each group."""
    del message
    return DeleteGroupsResponse(
        results=rows_of(
            dict.fromkeys(request.groups_names), lambda name: DeletableGroupResult(name, code)
        )
    )


@api(DeleteGroupsRequest, error=say_error)
def delete_groups(request: DeleteGroupsRequest, context: Context) -> Eventual[DeleteGroupsResponse]:
    names = list(dict.fromkeys(request.groups_names))
    denied = KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    allowed = dict.fromkeys(context.authorized(Operation.DELETE, groups=names))

    def answer(errors: list[KafkaError | None]) -> DeleteGroupsResponse:
        by_name = dict(zip(allowed, errors, strict=True))
        return DeleteGroupsResponse(
            results=rows_of(names, lambda name: _result(name, by_name.get(name, denied)))
        )

    if not allowed:
        return answer([])
    return then(context[GroupCoordinator].delete_groups(list(allowed)), answer)


def _result(name: str, error: KafkaError | None) -> DeletableGroupResult:
    return DeletableGroupResult(name, 0 if error is None else error.code)
