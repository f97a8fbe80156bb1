"""RenewDelegationToken (key 39): let a token live longer, but not beyond its maximum.

Waits until the change is durable. The request names the token by its HMAC. A token that has expired
cannot be renewed. Source: KIP-48.

Needs no permission: the client must be the owner or a renewer of the token, and not have logged in
by a token.
"""

import trio

from trio_kafka.controller.controller import Controller
from trio_kafka.controller.tokens import TokenChange
from trio_kafka.errors import ErrorCode
from trio_kafka.introspect.declared_waits import CONTROLLER, waits_for
from trio_kafka.protocol.messages.k39_renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.security.delegation_tokens import DelegationTokens, check_may_request


def say_error(
    request: RenewDelegationTokenRequest, code: ErrorCode, message: str | None
) -> RenewDelegationTokenResponse:
    """Return the error, which has no text here."""
    del request, message
    return RenewDelegationTokenResponse(error_code=code, expiry_timestamp_ms=-1)


@api(RenewDelegationTokenRequest, error=say_error)
async def renew_delegation_token(
    request: RenewDelegationTokenRequest, context: Context
) -> RenewDelegationTokenResponse:
    principal, tokens = context.connection.principal, context[DelegationTokens]
    check_may_request(principal, context.connection.origin.protocol)
    tokens.check_enabled()
    change = TokenChange(
        token_id=tokens.find(bytes(request.hmac)),
        principal=principal.text,
        period_ms=request.renew_period_ms,
        now_ms=tokens.now_ms(),
    )
    expiry_ms = await context.parked(_renew, change, context)
    return RenewDelegationTokenResponse(expiry_timestamp_ms=expiry_ms)


@waits_for("change", CONTROLLER, "the controller to renew a token")
async def _renew(change: TokenChange, context: Context) -> int:
    deadline = trio.current_time() + context.config.request_timeout_ms / 1000
    return await context[Controller].renew_token(change, deadline=deadline)
