"""Where a member asks from, as Kafka's tools and records have it."""

from ipaddress import IPv6Address

from trio_kafka.model import Endpoint


def client_host(peer: Endpoint) -> str:
    """As Java prints an address without a name: `/10.0.0.1`, `/0:0:0:0:0:0:0:1`."""
    if ":" not in peer.host:
        return f"/{peer.host}"
    address = int(IPv6Address(peer.host.partition("%")[0]))
    return "/" + ":".join(f"{address >> shift & 0xFFFF:x}" for shift in range(112, -1, -16))
