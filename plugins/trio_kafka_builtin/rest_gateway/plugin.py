"""The plugin `rest_gateway`: its settings and its lifetime."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from attrs import frozen

from trio_kafka.plugin import PluginContext, integer, plugin, string
from trio_kafka.security.principal import parse_principal


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


@plugin("rest_gateway", settings=GatewaySettings, order=200, enabled=False)
@asynccontextmanager
async def rest_gateway(context: PluginContext[GatewaySettings]) -> AsyncIterator[None]:
    """Serve topics and records over HTTP, in JSON."""
    from trio_kafka_builtin.rest_gateway.app import Gateway  # noqa: PLC0415 - off by default

    if context.settings.principal:
        parse_principal(context.settings.principal)
    context.mount(context.settings.path, Gateway(context))
    yield
