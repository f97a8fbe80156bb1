"""BrokerRegistration (key 62): a broker registers with the controller."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, boolean, int16, int32, int64, string, uuid
from trio_kafka.protocol.schema import request, response
from trio_kafka.protocol.structs.cluster import NodeFeature, NodeListener


@request(key=62, versions="0-4", flexible="0+")
class BrokerRegistrationRequest:
    """The broker, its incarnation, endpoints, features and log directories."""

    response: ClassVar[type["BrokerRegistrationResponse"]]

    broker_id: int = int32()
    cluster_id: str = string()
    incarnation_id: bytes = uuid()
    listeners: list[NodeListener] = array(NodeListener)
    features: list[NodeFeature] = array(NodeFeature)
    rack: str | None = string(nullable="0+")
    is_migrating_zk_broker: bool = boolean("1+")
    log_dirs: list[bytes] = array(uuid, "2+", ignorable=True)
    previous_broker_epoch: int = int64("3+", default=-1, ignorable=True)


@response(BrokerRegistrationRequest)
class BrokerRegistrationResponse:
    """Epoch that the controller gave to the registered broker."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    broker_epoch: int = int64(default=-1)
