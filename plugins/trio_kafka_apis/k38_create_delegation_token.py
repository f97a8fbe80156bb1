"""CreateDelegationToken (key 38): make a token with which others act for its owner.

Waits until the token is durable and this broker lets it log in. Only a client with an identity of
its own may ask: not one that logged in by a token. The answer has the HMAC, which is the password
of the token. An owner or renewer of another type than User is INVALID_PRINCIPAL_TYPE; Kafka lets
owners of any type pass, whose tokens then log in as users of that name. Source: KIP-48, KIP-373.

A client needs no permission for itself. Needs CREATE_TOKENS on the user who will be the owner, if
that is another one; the name of the resource is `User:name`.
"""

from typing import Final

import trio

from trio_kafka.controller.controller import Controller
from trio_kafka.controller.tokens import NewToken
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.declared_waits import CONTROLLER, waits_for
from trio_kafka.protocol.messages.k38_create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from trio_kafka.protocol.stored.metadata.security import DelegationTokenRecord
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.rows import visit
from trio_kafka.security.delegation_tokens import DelegationTokens, check_may_request
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import USER, Principal

_UNKNOWN: Final = -1  # time of an error
_MOST_RENEWERS: Final = 1000  # as each DescribeDelegationToken walks them, in one turn
_LONGEST_RENEWERS: Final = 64 << 10  # characters of all: each token is in the metadata log
_REQUESTERS: Final = 3  # first version whose answer names the requester


@api(CreateDelegationTokenRequest)
async def create_delegation_token(
    request: CreateDelegationTokenRequest, context: Context
) -> CreateDelegationTokenResponse:
    requester = context.connection.principal
    owner = _owner(request, requester)
    try:
        response = await _token(request, context, owner)
    except KafkaError as error:
        response = CreateDelegationTokenResponse(
            error_code=error.code,
            issue_timestamp_ms=_UNKNOWN,
            expiry_timestamp_ms=_UNKNOWN,
            max_timestamp_ms=_UNKNOWN,
        )
    response.principal_type, response.principal_name = owner.type, owner.name
    if context.version >= _REQUESTERS:
        response.token_requester_principal_type = requester.type
        response.token_requester_principal_name = requester.name
    return response


async def _token(
    request: CreateDelegationTokenRequest, context: Context, owner: Principal
) -> CreateDelegationTokenResponse:
    """Return the answer with a new token, without principals. Raises KafkaError."""
    requester, tokens = context.connection.principal, context[DelegationTokens]
    check_may_request(requester, context.connection.origin.protocol)
    if owner != requester:
        context.authorize(Operation.CREATE_TOKENS, user=owner.text)
    _check_type(owner.type)
    if len(request.renewers) > _MOST_RENEWERS:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"{len(request.renewers)} renewers: expected at most {_MOST_RENEWERS}",
        )
    renewers: list[str] = []
    await visit(request.renewers, lambda row: renewers.append(_renewer(row)))
    if sum(map(len, renewers)) > _LONGEST_RENEWERS:
        reason = f"renewers of {sum(map(len, renewers))} characters"
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"{reason}: expected at most {_LONGEST_RENEWERS}"
        )
    tokens.check_enabled()
    new = NewToken(
        token_id=tokens.new_id(),
        owner=owner.text,
        requester=requester.text,
        renewers=renewers,
        max_lifetime_ms=request.max_lifetime_ms,
        now_ms=tokens.now_ms(),
    )
    record = await context.parked(_create, new, context)
    return CreateDelegationTokenResponse(
        issue_timestamp_ms=record.issue_timestamp,
        expiry_timestamp_ms=record.expiration_timestamp,
        max_timestamp_ms=record.max_timestamp,
        token_id=record.token_id,
        hmac=tokens.hmac_of(record.token_id),
    )


@waits_for("change", CONTROLLER, "the controller to make a token")
async def _create(new: NewToken, context: Context) -> DelegationTokenRecord:
    deadline = trio.current_time() + context.config.request_timeout_ms / 1000
    return await context[Controller].create_token(new, deadline=deadline)


def _owner(request: CreateDelegationTokenRequest, requester: Principal) -> Principal:
    name = request.owner_principal_name
    return Principal(request.owner_principal_type or "", name) if name else requester


def _renewer(row: CreatableRenewers) -> str:
    _check_type(row.principal_type)
    return f"{row.principal_type}:{row.principal_name}"


def _check_type(kind: str) -> None:
    if kind != USER:
        raise KafkaError(ErrorCode.INVALID_PRINCIPAL_TYPE, f"type {kind!r}: expected {USER}")
