"""Readings of clients."""

from trio_kafka.plugin_host.client_access import (
    ClientDetails,
    ClientPage,
    read_client_as,
    read_client_page_as,
)
from trio_kafka.requests.parts import Parts
from trio_kafka.security.principal import Principal


async def read_client_page(
    parts: Parts, principal: Principal, *, of: str, first: int, most: int
) -> ClientPage:
    """Read some clients: see `client_access.read_client_page_as`."""
    return await read_client_page_as(principal, parts, of=of, first=first, most=most)


async def read_client(parts: Parts, principal: Principal, name: str, *, most: int) -> ClientDetails:
    """Read one client: see `client_access.read_client_as`."""
    return await read_client_as(principal, parts, name, most=most)
