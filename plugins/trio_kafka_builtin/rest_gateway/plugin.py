"""The plugin `rest_gateway`: its lifetime."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from trio_kafka.plugin import PluginContext, plugin
from trio_kafka.security.principal import parse_principal
from trio_kafka_builtin.rest_gateway.settings import GatewaySettings


@plugin("rest_gateway", settings=GatewaySettings, order=200, enabled=False)
@asynccontextmanager
async def rest_gateway(context: PluginContext[GatewaySettings]) -> AsyncIterator[None]:
    """Serve topics and records over HTTP, in JSON."""
    from trio_kafka_builtin.rest_gateway.app import Gateway  # noqa: PLC0415 - off by default

    if context.settings.principal:
        parse_principal(context.settings.principal)
    # Its requests to the broker are authorized one by one, as those of any client.
    context.mount(context.settings.path, Gateway(context), look=None, change=None)
    yield
