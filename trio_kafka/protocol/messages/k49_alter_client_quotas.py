"""AlterClientQuotas (key 49): change client quotas."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, boolean, float64, int16, int32, string
from trio_kafka.protocol.schema import request, response, struct
from trio_kafka.protocol.structs.cluster import EntityData


@struct
class OpData:
    key: str = string()
    value: float = float64()
    remove: bool = boolean()


@struct
class EntryData:
    entity: list[EntityData] = array(EntityData)
    ops: list[OpData] = array(OpData)


@request(key=49, versions="0-1", flexible="1+")
class AlterClientQuotasRequest:
    """Operations by entity; a null name is the default entity."""

    response: ClassVar[type["AlterClientQuotasResponse"]]

    entries: list[EntryData] = array(EntryData)
    validate_only: bool = boolean()


@struct
class EntryResult:
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    entity: list[EntityData] = array(EntityData)


@response(AlterClientQuotasRequest)
class AlterClientQuotasResponse:
    """An error for each entity."""

    throttle_time_ms: int = int32()
    entries: list[EntryResult] = array(EntryResult)
