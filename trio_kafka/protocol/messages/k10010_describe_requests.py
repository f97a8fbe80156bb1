"""DescribeRequests (key 10010): list requests in flight and finished ones. Ours, not Kafka's."""

from typing import ClassVar, Final

from trio_kafka.protocol.fields import array, boolean, int8, int16, int32, int64, string
from trio_kafka.protocol.schema import request, response, struct

# Values of `which`.
IN_FLIGHT: Final = 0
LATEST: Final = 1  # some per API
SLOWEST: Final = 2  # some per API, of the last hour

NOT_YET: Final = -1  # time of a hop that has not begun


@request(key=10010, versions="0-1")
class DescribeRequestsRequest:
    """Selection of requests. which: IN_FLIGHT (in flight), LATEST or SLOWEST.

    api_keys: only these APIs; empty: all. client_id: only this client.
    max_requests: -1: the server's bound. api_names (v1): more APIs, by name in any case or by key
    as text; an unknown one is INVALID_REQUEST.
    """

    response: ClassVar[type["DescribeRequestsResponse"]]

    which: int = int8(default=IN_FLIGHT)
    api_keys: list[int] = array(int16)
    client_id: str | None = string(nullable="0+", default=None)
    max_requests: int = int32(default=-1)
    api_names: list[str] = array(string, "1+")


@struct
class RequestLife:
    """One request. Times are in microseconds; an unfinished hop counts up to now.

    stage: current hop, "" when finished. waits_for: its first wait in words. age_us: since its last
    byte arrived. ended_us: since its response was sent. number: of the connection on its processor.
    request_bytes: without the length field; response_bytes: with it, 0 without a response.
    error_code: of the whole response; 0 if only parts have one.
    """

    plane: str = string(cached=True)
    api_key: int = int16()
    api_name: str = string(cached=True)
    api_version: int = int16()
    correlation_id: int = int32()
    client_id: str = string()
    software_name: str = string()
    software_version: str = string()
    peer: str = string()
    local: str = string()
    listener: str = string(cached=True)
    security_protocol: str = string(cached=True)
    number: int = int64()
    stage: str = string(cached=True)
    waits_for: str = string()
    age_us: int = int64()
    ended_us: int = int64()
    queue_us: int = int64()
    local_us: int = int64()
    remote_us: int = int64()
    response_queue_us: int = int64()
    send_us: int = int64()
    total_us: int = int64()
    throttle_us: int = int64()
    plugin_us: int = int64()
    request_bytes: int = int32()
    response_bytes: int = int64()
    error_code: int = int16()


@response(DescribeRequestsRequest)
class DescribeRequestsResponse:
    """Requests. IN_FLIGHT: by connection; LATEST: newest first; SLOWEST: slowest first of all APIs.

    truncated: more requests matched than were allowed; these are the first ones.
    """

    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    truncated: bool = boolean()
    requests: list[RequestLife] = array(RequestLife)
