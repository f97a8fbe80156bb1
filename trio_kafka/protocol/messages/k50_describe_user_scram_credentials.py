"""DescribeUserScramCredentials (key 50): describe the SCRAM credentials of users, without their
secrets.
"""

from typing import ClassVar

from trio_kafka.protocol.schema import array, int8, int16, int32, request, response, string, struct


@struct
class UserName:
    name: str = string()


@request(key=50, versions="0", flexible="0+")
class DescribeUserScramCredentialsRequest:
    """Users: null or empty is all."""

    response: ClassVar[type["DescribeUserScramCredentialsResponse"]]

    users: list[UserName] | None = array(UserName, nullable="0+")


@struct
class CredentialInfo:
    mechanism: int = int8()
    iterations: int = int32()


@struct
class DescribeUserScramCredentialsResult:
    user: str = string()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    credential_infos: list[CredentialInfo] = array(CredentialInfo)


@response(DescribeUserScramCredentialsRequest)
class DescribeUserScramCredentialsResponse:
    """Mechanisms and iterations of each user."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    results: list[DescribeUserScramCredentialsResult] = array(DescribeUserScramCredentialsResult)
