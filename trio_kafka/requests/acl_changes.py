"""Requests that change access control entries, row by row: CreateAcls and DeleteAcls.

Both wait until the change is durable and this broker decides by it. Both need ALTER on the cluster.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol, TypeVar

import trio

from trio_kafka.controller.controller import Controller
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.declared_waits import CONTROLLER, waits_for
from trio_kafka.requests.context import Context
from trio_kafka.requests.rows import visit
from trio_kafka.security.operations import Operation

R = TypeVar("R")
E = TypeVar("E")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class ChangeAcls(Protocol[E, T_co]):
    """Method of the controller that changes entries. deadline: trio.current_time()."""

    def __call__(
        self, controller: Controller, entries: list[E], /, *, deadline: float
    ) -> Awaitable[T_co]: ...


def check_authorizer(context: Context) -> None:
    """Raise KafkaError(SECURITY_DISABLED) if this broker has no authorizer."""
    if context.allows_all:
        raise KafkaError(
            ErrorCode.SECURITY_DISABLED, "this broker has no authorizer: set authorizer.class.name"
        )


async def change_acls(
    rows: Iterable[R], read: Callable[[R], E], change: ChangeAcls[E, T], context: Context
) -> T:
    """Change the entries or filters that `read` makes of rows, and return the controller's result.

    Raises KafkaError if the client may not, or without an authorizer.
    """
    context.authorize(Operation.ALTER, cluster=True)
    check_authorizer(context)
    entries: list[E] = []
    await visit(rows, lambda row: entries.append(read(row)))
    return await context.parked(_change, change, entries, context)


@waits_for("change", CONTROLLER, "the controller to change ACLs")
async def _change(change: ChangeAcls[E, T], entries: list[E], context: Context) -> T:
    deadline = trio.current_time() + context.config.request_timeout_ms / 1000
    return await change(context[Controller], entries, deadline=deadline)
