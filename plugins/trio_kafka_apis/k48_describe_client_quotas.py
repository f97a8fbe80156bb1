"""DescribeClientQuotas (key 48): list the quotas of users, client ids and addresses.

Never waits; many entities are searched in steps. A filter names types of entities, each with a
name, with the default, or with any name. With `strict` only entities of exactly these types match.
Source: KIP-546, KIP-612.

Needs DESCRIBE_CONFIGS on the cluster.
"""

from collections.abc import Mapping

from trio_kafka.errors import ErrorCode
from trio_kafka.metadata.image import QuotaEntity
from trio_kafka.metadata.quotas import quota_filter, quotas_that
from trio_kafka.pending import Eventual
from trio_kafka.protocol.messages.k48_describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntryData,
    ValueData,
)
from trio_kafka.protocol.structs.cluster import EntityData
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.rows import for_each
from trio_kafka.security.operations import Operation


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
    matches = quota_filter(request.components, strict=request.strict)
    entries: list[EntryData] = []

    def add(quotas: tuple[QuotaEntity, Mapping[str, float]] | None) -> None:
        if quotas is not None:
            entries.append(_entry(*quotas))

    return for_each(
        quotas_that(matches, context.image),
        add,
        lambda: DescribeClientQuotasResponse(entries=entries),
    )


def _entry(entity: QuotaEntity, quotas: Mapping[str, float]) -> EntryData:
    return EntryData(
        entity=[EntityData(kind, name) for kind, name in entity],
        values=[ValueData(key, value) for key, value in quotas.items()],
    )
