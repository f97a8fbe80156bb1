"""AlterClientQuotas (key 49): set and remove quotas of users, client ids and addresses.

Waits until what changed is durable and this broker obeys it. Each entity for itself; one that is
named twice is told so, and has what was said first, as in Kafka. Source: KIP-546, KIP-612.
"""

from collections.abc import Iterable

import trio

from trio_kafka.plugin import (
    MOST_QUOTA_CHANGES,
    Context,
    ErrorCode,
    KafkaError,
    QuotaChange,
    QuotaEntity,
    api,
)
from trio_kafka.protocol.messages.k49_alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    EntryResult,
)

TWICE = KafkaError(ErrorCode.INVALID_REQUEST, "the entity is named twice")


def say_error(
    request: AlterClientQuotasRequest, code: ErrorCode, message: str | None
) -> AlterClientQuotasResponse:
    """The error for each entity."""
    return AlterClientQuotasResponse(
        entries=[EntryResult(code, message, one.entity) for one in request.entries]
    )


@api(AlterClientQuotasRequest, error=say_error)
async def alter_client_quotas(
    request: AlterClientQuotasRequest, context: Context
) -> AlterClientQuotasResponse:
    if sum(len(one.ops) for one in request.entries) > MOST_QUOTA_CHANGES:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION, f"more than {MOST_QUOTA_CHANGES} changes in one request"
        )
    changes = [_change(one) for one in request.entries]
    first = {change.entity: change for change in reversed(changes)}
    answered: dict[QuotaEntity, KafkaError | None] = {}
    if first:
        answered = await context.parked(_alter, first.values(), request.validate_only, context)
    for change in changes:
        if first[change.entity] is not change:
            answered[change.entity] = TWICE
    return AlterClientQuotasResponse(
        entries=[
            _result(entity, answered[entity])
            for entity in dict.fromkeys(change.entity for change in changes)
        ]
    )


async def _alter(
    changes: Iterable[QuotaChange], validate_only: bool, context: Context
) -> dict[QuotaEntity, KafkaError | None]:
    return await context.controller.alter_quotas(
        [*changes],
        deadline=trio.current_time() + context.config.request_timeout_ms / 1000,
        validate_only=validate_only,
    )


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
