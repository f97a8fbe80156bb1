"""DescribeClientQuotas (key 48): which users, client ids and addresses have quotas, and what they
are.

Never waits; a walk over many is sliced. A filter names types of entities, each with a name, as the
default, or with any; `strict`: no entity of other types besides. Source: KIP-546, KIP-612.
"""

from collections.abc import Mapping

from trio_kafka.plugin import (
    Context,
    ErrorCode,
    QuotaEntity,
    Steps,
    api,
    in_slices,
    quota_filter,
    quotas_that,
)
from trio_kafka.protocol.messages.k48_describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)


def say_error(
    request: DescribeClientQuotasRequest, code: ErrorCode, message: str | None
) -> DescribeClientQuotasResponse:
    """No entries, not even none."""
    del request
    return DescribeClientQuotasResponse(error_code=code, error_message=message, entries=None)


@api(DescribeClientQuotasRequest, error=say_error)
def describe_client_quotas(
    request: DescribeClientQuotasRequest, context: Context
) -> Steps[DescribeClientQuotasResponse]:
    wanted = quota_filter(request.components, strict=request.strict)
    entries: list[EntryData] = []
    for some in in_slices(quotas_that(wanted, context.metadata.image), 20):
        entries += [_entry(*one) for one in some if one is not None]
        yield
    return DescribeClientQuotasResponse(entries=entries)


def _entry(entity: QuotaEntity, quotas: Mapping[str, float]) -> EntryData:
    return EntryData(
        entity=[EntityData(kind, name) for kind, name in entity],
        values=[ValueData(key, value) for key, value in quotas.items()],
    )
