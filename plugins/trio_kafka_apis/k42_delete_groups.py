"""DeleteGroups (key 42): groups without members are deleted, with their offsets.

Waits, parked, until the tombstones are committed. Source: KIP-229.
"""

from typing import Any

from trio_kafka.plugin import Context, ErrorCode, KafkaError, api, rows_of
from trio_kafka.protocol.messages.k42_delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)


def say_error(
    request: DeleteGroupsRequest, code: ErrorCode, message: str | None
) -> DeleteGroupsResponse:
    """The error for every group."""
    del message
    return DeleteGroupsResponse(
        results=rows_of(
            dict.fromkeys(request.groups_names), lambda name: DeletableGroupResult(name, code)
        )
    )


@api(DeleteGroupsRequest, error=say_error)
def delete_groups(request: DeleteGroupsRequest, context: Context) -> Any:
    names = list(dict.fromkeys(request.groups_names))  # who is named twice is deleted once

    def answer(errors: list[KafkaError | None]) -> DeleteGroupsResponse:
        return DeleteGroupsResponse(
            results=rows_of(
                tuple(zip(names, errors, strict=True)),
                lambda one: DeletableGroupResult(one[0], 0 if one[1] is None else one[1].code),
            )
        )

    return context.groups.delete_groups(names, answer)
