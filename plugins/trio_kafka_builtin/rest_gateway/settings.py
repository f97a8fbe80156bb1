"""Settings of the plugin `rest_gateway`."""

from attrs import frozen

from trio_kafka.plugin import integer, string


@frozen(kw_only=True)
class GatewaySettings:
    """Settings `plugin.rest_gateway.<name>`."""

    path: str = string("/v1", "Path at which it is mounted on the HTTP plane.")
    max_body_bytes: int = integer(
        131072, "Largest body of a request, which is parsed in one step.", low=1
    )
    max_fetch_bytes: int = integer(1048576, "Most bytes that one response reads from a log.", low=1)
    max_wait_ms: int = integer(20000, "Longest wait of a request for records.", low=0)
    timeout_ms: int = integer(15000, "Timeout of a write.", low=1)
    max_requests: int = integer(
        256, "Most requests in flight; further ones are answered 503.", low=1
    )
    principal: str = string(
        "", "Principal of its requests, as type:name. Empty: that of the HTTP request."
    )
    client_id: str = string("rest-gateway", "Client id for quotas and logs.")
