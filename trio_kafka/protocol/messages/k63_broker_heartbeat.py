"""BrokerHeartbeat (key 63): renew a broker's lease with the controller, and request its state."""

from typing import ClassVar

from trio_kafka.protocol.schema import array, boolean, int16, int32, int64, request, response, uuid


@request(key=63, versions="0-2", flexible="0+")
class BrokerHeartbeatRequest:
    """Metadata offset of the broker, and the requested state: fenced or shut down."""

    response: ClassVar[type["BrokerHeartbeatResponse"]]

    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)
    current_metadata_offset: int = int64()
    want_fence: bool = boolean()
    want_shut_down: bool = boolean()
    offline_log_dirs: list[bytes] = array(uuid, "1+", tag=0)
    cordoned_log_dirs: list[bytes] | None = array(uuid, "2+", nullable="2+", tag=1, default=None)


@response(BrokerHeartbeatRequest)
class BrokerHeartbeatResponse:
    """State of the broker: caught up, fenced, allowed to shut down."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    is_caught_up: bool = boolean()
    is_fenced: bool = boolean(default=True)
    should_shut_down: bool = boolean()
