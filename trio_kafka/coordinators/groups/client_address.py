"""Text of a client's address, as Java prints it."""

from functools import lru_cache
from ipaddress import IPv6Address


@lru_cache(maxsize=4096)
def client_host(host: str) -> str:
    """Return an address as Java prints it without a name: `/10.0.0.1`, `/0:0:0:0:0:0:0:1`."""
    if ":" not in host:
        return f"/{host}"
    address = int(IPv6Address(host.partition("%")[0]))
    return "/" + ":".join(f"{address >> shift & 0xFFFF:x}" for shift in range(112, -1, -16))
