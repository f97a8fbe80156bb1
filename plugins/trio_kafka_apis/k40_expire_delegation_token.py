"""ExpireDelegationToken (key 40): let a token end after a period, or now if that is negative.

Waits until the change is durable. The request names the token by its HMAC. Connections that logged
in by the token stay until the end of their session, which was fixed at the login. Source: KIP-48.

Needs no permission: the client must be the owner or a renewer of the token, and not have logged in
by a token.
"""

import trio

from trio_kafka.controller.controller import Controller
from trio_kafka.controller.tokens import TokenChange
from trio_kafka.errors import ErrorCode
from trio_kafka.introspect.declared_waits import CONTROLLER, waits_for
from trio_kafka.protocol.messages.k40_expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.security.delegation_tokens import DelegationTokens, check_may_request


def say_error(
    request: ExpireDelegationTokenRequest, code: ErrorCode, message: str | None
) -> ExpireDelegationTokenResponse:
    """Return the error, which has no text here."""
    del request, message
    return ExpireDelegationTokenResponse(error_code=code, expiry_timestamp_ms=-1)


@api(ExpireDelegationTokenRequest, error=say_error)
async def expire_delegation_token(
    request: ExpireDelegationTokenRequest, context: Context
) -> ExpireDelegationTokenResponse:
    principal, tokens = context.connection.principal, context[DelegationTokens]
    check_may_request(principal, context.connection.origin.protocol)
    tokens.check_enabled()
    change = TokenChange(
        token_id=tokens.find(bytes(request.hmac)),
        principal=principal.text,
        period_ms=request.expiry_time_period_ms,
        now_ms=tokens.now_ms(),
    )
    expiry_ms = await context.parked(_expire, change, context)
    return ExpireDelegationTokenResponse(expiry_timestamp_ms=expiry_ms)


@waits_for("change", CONTROLLER, "the controller to end a token")
async def _expire(change: TokenChange, context: Context) -> int:
    deadline = trio.current_time() + context.config.request_timeout_ms / 1000
    return await context[Controller].expire_token(change, deadline=deadline)
