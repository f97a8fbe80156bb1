"""CreateAcls (key 30): create access control entries."""

from typing import ClassVar

from trio_kafka.protocol.schema import array, int8, int16, int32, request, response, string, struct


@struct
class AclCreation:
    resource_type: int = int8()
    resource_name: str = string()
    resource_pattern_type: int = int8(default=3)
    principal: str = string()
    host: str = string()
    operation: int = int8()
    permission_type: int = int8()


@request(key=30, versions="1-3", flexible="2+")
class CreateAclsRequest:
    """Create entries of access control lists."""

    response: ClassVar[type["CreateAclsResponse"]]

    creations: list[AclCreation] = array(AclCreation)


@struct
class AclCreationResult:
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")


@response(CreateAclsRequest)
class CreateAclsResponse:
    """An error for each entry."""

    throttle_time_ms: int = int32()
    results: list[AclCreationResult] = array(AclCreationResult)
