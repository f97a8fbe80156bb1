"""ExpireDelegationToken (key 40): let a delegation token expire."""

from typing import ClassVar

from trio_kafka.protocol.schema import bytes_, int16, int32, int64, request, response


@request(key=40, versions="1-2", flexible="2+")
class ExpireDelegationTokenRequest:
    """The token's HMAC and the time to expiry; negative: now."""

    response: ClassVar[type["ExpireDelegationTokenResponse"]]

    hmac: bytes = bytes_()
    expiry_time_period_ms: int = int64()


@response(ExpireDelegationTokenRequest)
class ExpireDelegationTokenResponse:
    """Result of a change of expiry, with the new expiry time of the token."""

    error_code: int = int16()
    expiry_timestamp_ms: int = int64()
    throttle_time_ms: int = int32()
