"""Text of a client's address, as Java prints it."""

from trio_kafka.security.acls.hosts import parse_address


def client_host(host: str) -> str:
    """Return an address as Java prints it without a name: `/10.0.0.1`, `/0:0:0:0:0:0:0:1`."""
    zoneless = host.partition("%")[0]
    return f"/{parse_address(zoneless).text}"
