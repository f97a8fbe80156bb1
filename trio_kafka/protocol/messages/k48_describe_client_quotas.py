"""DescribeClientQuotas (key 48): find client quotas."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, boolean, float64, int8, int16, int32, string
from trio_kafka.protocol.schema import request, response, struct
from trio_kafka.protocol.structs.cluster import EntityData


@struct
class ComponentData:
    entity_type: str = string()
    match_type: int = int8()
    match: str | None = string(nullable="0+")


@request(key=48, versions="0-1", flexible="1+")
class DescribeClientQuotasRequest:
    """A filter by components of entities."""

    response: ClassVar[type["DescribeClientQuotasResponse"]]

    components: list[ComponentData] = array(ComponentData)
    strict: bool = boolean()


@struct
class ValueData:
    key: str = string()
    value: float = float64()


@struct
class EntryData:
    entity: list[EntityData] = array(EntityData)
    values: list[ValueData] = array(ValueData)


@response(DescribeClientQuotasRequest)
class DescribeClientQuotasResponse:
    """Entities with their quotas."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    entries: list[EntryData] | None = array(EntryData, nullable="0+")
