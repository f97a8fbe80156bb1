"""AlterClientQuotas (key 49): set and remove quotas of users, client ids and addresses.

Waits until the change is durable and this broker has applied it. Each entity is independent of the
others. For an entity that is named twice the first change is made, and the response says that it is
named twice, as in Kafka. Source: KIP-546, KIP-612.

Needs ALTER_CONFIGS on the cluster.
"""

from collections.abc import Iterable
from typing import Final

import trio

from trio_kafka.controller.controller import Controller
from trio_kafka.controller.quotas import MOST_CHANGES as MOST_QUOTA_CHANGES
from trio_kafka.controller.quotas import QuotaChange
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.declared_waits import CONTROLLER, waits_for
from trio_kafka.metadata.image import QuotaEntity
from trio_kafka.protocol.messages.k49_alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntryData,
    EntryResult,
)
from trio_kafka.protocol.structs.cluster import EntityData
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import rows_of
from trio_kafka.requests.rows import visit
from trio_kafka.security.operations import Operation

SLICE: Final = 100  # entities in one step
TYPES: Final = 3  # of entities: users, client ids, addresses
TWICE: Final = KafkaError(ErrorCode.INVALID_REQUEST, "the entity is named twice")


def say_error(
    request: AlterClientQuotasRequest, code: ErrorCode, message: str | None
) -> AlterClientQuotasResponse:
    """Return the error for each entity."""
    return AlterClientQuotasResponse(
        entries=rows_of(request.entries, lambda entry: EntryResult(code, message, entry.entity))
    )


@api(AlterClientQuotasRequest, error=say_error)
async def alter_client_quotas(
    request: AlterClientQuotasRequest, context: Context
) -> AlterClientQuotasResponse:
    context.authorize(Operation.ALTER_CONFIGS, cluster=True)
    _check_count(request)
    changes: list[QuotaChange] = []
    await visit(request.entries, lambda entry: changes.append(_change(entry)))
    first = {change.entity: change for change in reversed(changes)}
    answered: dict[QuotaEntity, KafkaError | None] = {}
    if first:
        answered = await context.parked(_alter, first.values(), request.validate_only, context)
    for change in changes:
        if first[change.entity] is not change:
            answered[change.entity] = TWICE
    return AlterClientQuotasResponse(
        entries=rows_of(
            dict.fromkeys(change.entity for change in changes),
            lambda entity: _result(entity, answered[entity]),
        )
    )


@waits_for("change", CONTROLLER, "the controller to change client quotas")
async def _alter(
    changes: Iterable[QuotaChange], validate_only: bool, context: Context
) -> dict[QuotaEntity, KafkaError | None]:
    return await context[Controller].alter_quotas(
        [*changes],
        deadline=trio.current_time() + context.config.request_timeout_ms / 1000,
        validate_only=validate_only,
    )


def _check_count(request: AlterClientQuotasRequest) -> None:
    """Raise KafkaError(POLICY_VIOLATION) for too many changes."""
    entries = request.entries
    if (
        len(entries) > MOST_QUOTA_CHANGES
        or sum(len(entry.ops) for entry in entries) > MOST_QUOTA_CHANGES
        or sum(len(entry.entity) for entry in entries) > TYPES * MOST_QUOTA_CHANGES
    ):
        reason = f"too many changes: expected at most {MOST_QUOTA_CHANGES} in one request"
        raise KafkaError(ErrorCode.POLICY_VIOLATION, reason)


def _change(entry: EntryData) -> QuotaChange:
    names = {part.entity_type: part.entity_name for part in entry.entity}
    values: dict[str, float | None] = {}
    repeated = None
    for op in entry.ops:
        if op.key in values:
            repeated = op.key
        values[op.key] = None if op.remove else op.value
    return QuotaChange(tuple(sorted(names.items())), values, repeated)


def _result(entity: QuotaEntity, error: KafkaError | None) -> EntryResult:
    return EntryResult(
        error_code=ErrorCode.NONE if error is None else error.code,
        error_message=None if error is None else error.message,
        entity=[EntityData(kind, name) for kind, name in entity],
    )
