"""DescribeDelegationToken (key 41): describe delegation tokens."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, bytes_, int16, int32, int64, string
from trio_kafka.protocol.schema import request, response, struct


@struct
class DescribeDelegationTokenOwner:
    principal_type: str = string()
    principal_name: str = string()


@request(key=41, versions="1-3", flexible="2+")
class DescribeDelegationTokenRequest:
    """Owners: null is all."""

    response: ClassVar[type["DescribeDelegationTokenResponse"]]

    owners: list[DescribeDelegationTokenOwner] | None = array(
        DescribeDelegationTokenOwner, nullable="0+"
    )


@struct
class DescribedDelegationTokenRenewer:
    principal_type: str = string()
    principal_name: str = string()


@struct
class DescribedDelegationToken:
    principal_type: str = string()
    principal_name: str = string()
    token_requester_principal_type: str = string("3+")
    token_requester_principal_name: str = string("3+")
    issue_timestamp: int = int64()
    expiry_timestamp: int = int64()
    max_timestamp: int = int64()
    token_id: str = string()
    hmac: bytes = bytes_()
    renewers: list[DescribedDelegationTokenRenewer] = array(DescribedDelegationTokenRenewer)


@response(DescribeDelegationTokenRequest)
class DescribeDelegationTokenResponse:
    """Tokens with their secrets."""

    error_code: int = int16()
    tokens: list[DescribedDelegationToken] = array(DescribedDelegationToken)
    throttle_time_ms: int = int32()
