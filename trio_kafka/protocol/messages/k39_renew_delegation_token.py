"""RenewDelegationToken (key 39): renew a delegation token."""

from typing import ClassVar

from trio_kafka.protocol.schema import bytes_, int16, int32, int64, request, response


@request(key=39, versions="1-2", flexible="2+")
class RenewDelegationTokenRequest:
    """The token's HMAC and the renewal period."""

    response: ClassVar[type["RenewDelegationTokenResponse"]]

    hmac: bytes = bytes_()
    renew_period_ms: int = int64()


@response(RenewDelegationTokenRequest)
class RenewDelegationTokenResponse:
    """Result of a renewal, with the new expiry time of the token."""

    error_code: int = int16()
    expiry_timestamp_ms: int = int64()
    throttle_time_ms: int = int32()
