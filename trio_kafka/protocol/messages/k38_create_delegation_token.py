"""CreateDelegationToken (key 38): create a delegation token."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, bytes_, int16, int32, int64, string
from trio_kafka.protocol.schema import request, response, struct


@struct
class CreatableRenewers:
    principal_type: str = string()
    principal_name: str = string()


@request(key=38, versions="1-3", flexible="2+")
class CreateDelegationTokenRequest:
    """Owner, renewers and maximum lifetime."""

    response: ClassVar[type["CreateDelegationTokenResponse"]]

    owner_principal_type: str | None = string("3+", nullable="3+")
    owner_principal_name: str | None = string("3+", nullable="3+")
    renewers: list[CreatableRenewers] = array(CreatableRenewers)
    max_lifetime_ms: int = int64()


@response(CreateDelegationTokenRequest)
class CreateDelegationTokenResponse:
    """The token with its secret."""

    error_code: int = int16()
    principal_type: str = string()
    principal_name: str = string()
    token_requester_principal_type: str = string("3+")
    token_requester_principal_name: str = string("3+")
    issue_timestamp_ms: int = int64()
    expiry_timestamp_ms: int = int64()
    max_timestamp_ms: int = int64()
    token_id: str = string()
    hmac: bytes = bytes_()
    throttle_time_ms: int = int32()
