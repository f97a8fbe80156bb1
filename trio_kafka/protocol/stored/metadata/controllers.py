"""Metadata records of controllers."""

from trio_kafka.protocol.fields import array, boolean, int32, uuid
from trio_kafka.protocol.schema import record
from trio_kafka.protocol.structs.cluster import NodeFeature, NodeListener


@record(key=27, versions="0", flexible="0+")
class RegisterControllerRecord:
    """Registration of a controller."""

    controller_id: int = int32()
    incarnation_id: bytes = uuid()
    zk_migration_ready: bool = boolean()
    end_points: list[NodeListener] = array(NodeListener)
    features: list[NodeFeature] = array(NodeFeature)


@record(key=29, versions="0", flexible="0+")
class UnregisterControllerRecord:
    """Final removal of a controller."""

    controller_id: int = int32()
