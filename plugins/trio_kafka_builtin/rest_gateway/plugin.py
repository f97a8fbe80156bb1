"""The plugin `rest_gateway`: its settings and its life."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from attrs import frozen

from trio_kafka.plugin import PluginContext, integer, parse_principal, plugin, string


@frozen(kw_only=True)
class GatewaySettings:
    """`plugin.rest_gateway.<name>`."""

    path: str = string("/v1", "Where it is mounted on the HTTP plane.")
    max_body_bytes: int = integer(
        131072, "The largest body of a request: it is parsed in one turn of the loop.", low=1
    )
    max_fetch_bytes: int = integer(1048576, "The most that one answer reads of a log.", low=1)
    max_wait_ms: int = integer(20000, "The most that a request waits for records.", low=0)
    timeout_ms: int = integer(15000, "How long a write may take.", low=1)
    max_requests: int = integer(256, "Requests in hand at once; others are told to wait.", low=1)
    principal: str = string(
        "", "The principal of its requests, as type:name. Empty: that of the HTTP request."
    )
    client_id: str = string("rest-gateway", "The client id that quotas and logs see.")


@plugin("rest_gateway", settings=GatewaySettings, order=200, enabled=False)
@asynccontextmanager
async def rest_gateway(context: PluginContext[GatewaySettings]) -> AsyncIterator[None]:
    """Serves topics and records over HTTP, in JSON."""
    from trio_kafka_builtin.rest_gateway.app import Gateway  # noqa: PLC0415 - off by default

    if context.settings.principal:
        parse_principal(context.settings.principal)
    context.mount(context.settings.path, Gateway(context))
    yield
