"""DescribeRequests (key 10010): requests in hand, and some that are over. Ours, not Kafka's."""

from typing import Final

from trio_kafka.protocol.schema import (
    array,
    boolean,
    int8,
    int16,
    int32,
    int64,
    request,
    response,
    string,
    struct,
)

# Which requests.
IN_HAND: Final = 0
LATEST: Final = 1  # some of each API
SLOWEST: Final = 2  # some of each API, in the last hour

NOT_YET: Final = -1  # the time of a hop that has not begun


@request(key=10010, versions="0-1")
class DescribeRequestsRequest:
    """Which requests: IN_HAND, LATEST or SLOWEST.

    api_keys: only requests of these APIs; empty: of all. client_id: only requests of this client.
    max_requests: -1 leaves it to the server, which has a bound. api_names (v1): more APIs, by name
    in any case or by key as text; one that the server does not know is INVALID_REQUEST.
    """

    which: int = int8(default=IN_HAND)
    api_keys: list[int] = array(int16)
    client_id: str | None = string(nullable="0+", default=None)
    max_requests: int = int32(default=-1)
    api_names: list[str] = array(string, "1+")


@struct
class RequestLife:
    """One request. Times in microseconds, of a hop that has not ended up to now.

    stage: where it is, "" when it is over. waits_for: what it is parked on. age_us: since its last
    byte came. ended_us: since its answer was sent. number: of the connection, on its processor.
    request_bytes: without its length; response_bytes: with it, 0 where there is none.
    error_code: of the whole answer, 0 also where only parts of it have one.
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
    """LATEST: the newest first; SLOWEST: the slowest first, whatever their API; IN_HAND: by
    connection.

    truncated: more requests matched than were allowed; the answer then holds the first of them in
    that order.
    """

    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    truncated: bool = boolean()
    requests: list[RequestLife] = array(RequestLife)
