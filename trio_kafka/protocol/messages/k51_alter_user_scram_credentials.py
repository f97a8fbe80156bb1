"""AlterUserScramCredentials (key 51): create, change and delete SCRAM credentials."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, bytes_, int8, int16, int32, string
from trio_kafka.protocol.schema import request, response, struct


@struct
class ScramCredentialDeletion:
    name: str = string()
    mechanism: int = int8()


@struct
class ScramCredentialUpsertion:
    name: str = string()
    mechanism: int = int8()
    iterations: int = int32()
    salt: bytes = bytes_()
    salted_password: bytes = bytes_()


@request(key=51, versions="0", flexible="0+")
class AlterUserScramCredentialsRequest:
    """Credentials to delete and to insert, as salted passwords."""

    response: ClassVar[type["AlterUserScramCredentialsResponse"]]

    deletions: list[ScramCredentialDeletion] = array(ScramCredentialDeletion)
    upsertions: list[ScramCredentialUpsertion] = array(ScramCredentialUpsertion)


@struct
class AlterUserScramCredentialsResult:
    user: str = string()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")


@response(AlterUserScramCredentialsRequest)
class AlterUserScramCredentialsResponse:
    """An error for each user."""

    throttle_time_ms: int = int32()
    results: list[AlterUserScramCredentialsResult] = array(AlterUserScramCredentialsResult)
