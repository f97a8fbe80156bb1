"""Metadata records of brokers."""

from trio_kafka.protocol.fields import (
    array,
    boolean,
    int8,
    int32,
    int64,
    string,
    uuid,
)
from trio_kafka.protocol.schema import record
from trio_kafka.protocol.structs.cluster import NodeFeature, NodeListener


@record(key=0, versions="0-4", flexible="0+")
class RegisterBrokerRecord:
    """Registration of a broker; the offset of this record is its epoch."""

    broker_id: int = int32()
    is_migrating_zk_broker: bool = boolean("2+")
    incarnation_id: bytes = uuid()
    broker_epoch: int = int64()
    end_points: list[NodeListener] = array(NodeListener)
    features: list[NodeFeature] = array(NodeFeature)
    rack: str | None = string(nullable="0+")
    fenced: bool = boolean(default=True)
    in_controlled_shutdown: bool = boolean("1+")
    log_dirs: list[bytes] = array(uuid, "3+", tag=0)
    cordoned_log_dirs: list[bytes] | None = array(uuid, "4+", nullable="4+", tag=1, default=None)


@record(key=1, versions="0", flexible="0+")
class UnregisterBrokerRecord:
    """Final removal of a broker."""

    broker_id: int = int32()
    broker_epoch: int = int64()


@record(key=17, versions="0-3", flexible="0+")
class BrokerRegistrationChangeRecord:
    """Change of a broker; in `fenced` 1 is yes, -1 no and 0 unchanged."""

    broker_id: int = int32()
    broker_epoch: int = int64()
    fenced: int = int8(tag=0)
    in_controlled_shutdown: int = int8("1+", tag=1)
    log_dirs: list[bytes] = array(uuid, "2+", tag=2)
    cordoned_log_dirs: list[bytes] | None = array(uuid, "3+", nullable="3+", tag=3, default=None)


@record(key=7, versions="0", flexible="0+")
class FenceBrokerRecord:
    """Fencing of a broker; used before BrokerRegistrationChangeRecord existed."""

    id: int = int32()
    epoch: int = int64()


@record(key=8, versions="0", flexible="0+")
class UnfenceBrokerRecord:
    """Unfencing of a broker; used before BrokerRegistrationChangeRecord existed."""

    id: int = int32()
    epoch: int = int64()
