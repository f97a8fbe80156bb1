"""Metadata records of client quotas."""

from trio_kafka.protocol.schema import array, boolean, float64, record, string
from trio_kafka.protocol.structs.cluster import EntityData


@record(key=14, versions="0", flexible="0+")
class ClientQuotaRecord:
    """Quota of an entity; a null name is the default entity of its type."""

    entity: list[EntityData] = array(EntityData)
    key: str = string()
    value: float = float64()
    remove: bool = boolean()
