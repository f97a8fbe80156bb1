"""DescribeDelegationToken (key 41): list tokens with their HMACs.

Never waits; many tokens are listed in steps. Owners in the request are owners, requesters or
renewers of a token; null is all tokens, an empty list none. A client that logged in by a token gets
none. Source: KIP-48, KIP-373.

A client sees its own tokens, those that it has requested for other owners, and those that it may
renew. Others need DESCRIBE on the token, whose name is its id, or DESCRIBE_TOKENS on the user who
owns it; the others are left out.
"""

from collections.abc import Collection, Iterator
from typing import Final

from trio_kafka.pending import Eventual
from trio_kafka.protocol.messages.k41_describe_delegation_token import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from trio_kafka.protocol.stored.metadata.security import DelegationTokenRecord
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.rows import for_each
from trio_kafka.security.delegation_tokens import DelegationTokens, check_may_request
from trio_kafka.security.operations import Operation

_AT_ONCE: Final = 10  # tokens, 20 µs each with an authorizer, and up to 1 ms with many renewers
_REQUESTERS: Final = 3  # first version that names who asked for a token


@api(DescribeDelegationTokenRequest)
def describe_delegation_token(
    request: DescribeDelegationTokenRequest, context: Context
) -> Eventual[DescribeDelegationTokenResponse]:
    check_may_request(context.connection.principal, context.connection.origin.protocol)
    tokens = context[DelegationTokens]
    tokens.check_enabled()
    if request.owners is None:
        return _describe(tokens, None, context)
    owners: set[str] = set()
    return for_each(
        request.owners,
        lambda row: owners.add(f"{row.principal_type}:{row.principal_name}"),
        lambda: _describe(tokens, owners, context),
    )


def _describe(
    tokens: DelegationTokens, owners: Collection[str] | None, context: Context
) -> Eventual[DescribeDelegationTokenResponse]:
    """Describe the tokens of some owners; None: of all."""
    answer = DescribeDelegationTokenResponse()
    if owners is not None and not owners:
        return answer

    def look_at(record: DelegationTokenRecord) -> None:
        if _is_wanted(record, owners) and _is_visible(record, context):
            row = _row(record, tokens.hmac_of(record.token_id))
            if context.version >= _REQUESTERS:
                requester = record.requester.partition(":")
                row.token_requester_principal_type, _, row.token_requester_principal_name = (
                    requester
                )
            answer.tokens.append(row)

    return for_each(list(tokens.records.values()), look_at, lambda: answer, at_once=_AT_ONCE)


def _is_wanted(record: DelegationTokenRecord, owners: Collection[str] | None) -> bool:
    return owners is None or any(principal in owners for principal in _principals(record))


def _is_visible(record: DelegationTokenRecord, context: Context) -> bool:
    return (
        context.principal in _principals(record)
        or context.is_authorized(Operation.DESCRIBE, token=record.token_id)
        or context.is_authorized(Operation.DESCRIBE_TOKENS, user=record.owner)
    )


def _principals(record: DelegationTokenRecord) -> Iterator[str]:
    """Yield the principals of a token: `ownerOrRenewer` of Apache Kafka's TokenInformation."""
    yield record.owner
    yield record.requester
    yield from record.renewers


def _row(record: DelegationTokenRecord, token_hmac: bytes) -> DescribedDelegationToken:
    owner_type, _, owner = record.owner.partition(":")
    return DescribedDelegationToken(
        principal_type=owner_type,
        principal_name=owner,
        issue_timestamp=record.issue_timestamp,
        expiry_timestamp=record.expiration_timestamp,
        max_timestamp=record.max_timestamp,
        token_id=record.token_id,
        hmac=token_hmac,
        renewers=[_renewer(renewer) for renewer in record.renewers],
    )


def _renewer(principal: str) -> DescribedDelegationTokenRenewer:
    kind, _, name = principal.partition(":")
    return DescribedDelegationTokenRenewer(kind, name)
