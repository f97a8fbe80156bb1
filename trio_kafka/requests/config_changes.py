"""Answers of the two APIs that change settings: AlterConfigs and IncrementalAlterConfigs.

Their requests differ in what a change is, and their responses in nothing but the class of a row.
Source: KIP-133, KIP-339.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Protocol, TypeVar

from trio_kafka.controller.config_admin import ConfigAdmin, ResourceChanges
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.declared_waits import CONTROLLER, waits_for
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import rows_of
from trio_kafka.security.operations import Operation

T_co = TypeVar("T_co", covariant=True)


class NamedResource(Protocol):
    """Resource of a request."""

    resource_type: int
    resource_name: str


class ResultRow(Protocol[T_co]):
    """Class of a row of the response."""

    def __call__(
        self,
        *,
        error_code: int,
        error_message: str | None,
        resource_type: int,
        resource_name: str,
    ) -> T_co: ...


@waits_for("change", CONTROLLER, "the controller to change settings")
async def change_settings(
    changes: Iterable[ResourceChanges], context: Context, validate_only: bool
) -> list[KafkaError | None]:
    """Change each resource by itself, as the client of a request; return the errors in order.

    To be awaited with `Context.parked`. Needs ALTER_CONFIGS on each topic or group; on the cluster
    for all other types.
    """
    return await context[ConfigAdmin].alter(
        changes,
        validate_only=validate_only,
        principal=context.principal,
        authorize=partial(context.authorize_settings, Operation.ALTER_CONFIGS),
    )


def result_rows(
    row: ResultRow[T_co], resources: Sequence[NamedResource], errors: Sequence[KafkaError | None]
) -> list[T_co]:
    """Return the rows of a response: one for each resource, with its error."""

    def result(number: int) -> T_co:
        resource, error = resources[number], errors[number]
        return row(
            error_code=ErrorCode.NONE if error is None else error.code,
            error_message=None if error is None else error.message,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )

    return rows_of(range(len(errors)), result)
