"""DescribeClientQuotas (key 48): list the quotas of users, client ids and addresses.

Never waits; many entities are searched in steps. A filter names types of entities, each with a
name, with the default, or with any name. With `strict` only entities of exactly these types match.
Source: KIP-546, KIP-612.

Needs DESCRIBE_CONFIGS on the cluster.
"""

from collections.abc import Mapping

from trio_kafka.plugin import (
    Context,
    ErrorCode,
    Eventual,
    Operation,
    QuotaEntity,
    api,
    for_each,
    quota_filter,
    quotas_that,
)
from trio_kafka.protocol.messages.k48_describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntryData,
    ValueData,
)
from trio_kafka.protocol.structs.cluster import EntityData


def say_error(
    request: DescribeClientQuotasRequest, code: ErrorCode, message: str | None
) -> DescribeClientQuotasResponse:
    """Return the error; the entries are null."""
    del request
    return DescribeClientQuotasResponse(error_code=code, error_message=message, entries=None)


@api(DescribeClientQuotasRequest, error=say_error)
def describe_client_quotas(
    request: DescribeClientQuotasRequest, context: Context
) -> Eventual[DescribeClientQuotasResponse]:
    context.authorize(Operation.DESCRIBE_CONFIGS, cluster=True)
    wanted = quota_filter(request.components, strict=request.strict)
    entries: list[EntryData] = []

    def add(quotas: tuple[QuotaEntity, Mapping[str, float]] | None) -> None:
        if quotas is not None:
            entries.append(_entry(*quotas))

    return for_each(
        quotas_that(wanted, context.image),
        add,
        lambda: DescribeClientQuotasResponse(entries=entries),
    )


def _entry(entity: QuotaEntity, quotas: Mapping[str, float]) -> EntryData:
    return EntryData(
        entity=[EntityData(kind, name) for kind, name in entity],
        values=[ValueData(key, value) for key, value in quotas.items()],
    )
