"""Names of brokers (`client.dns.lookup`), through the world's network.

`use_all_dns_ips`: each connection tries all addresses of its name in turn, as the network does.
`resolve_canonical_bootstrap_servers_only`: each bootstrap name stands for the canonical names of
all its addresses, so that one name can stand for a whole cluster. Source: KIP-235, KIP-302.
"""

from collections.abc import Sequence
from typing import Final

from trio_kafka.model import Endpoint
from trio_kafka.world.protocols import Network

CANONICAL: Final = "resolve_canonical_bootstrap_servers_only"


async def canonical_bootstrap(
    network: Network, endpoints: Sequence[Endpoint]
) -> tuple[Endpoint, ...]:
    """Return the canonical names of all addresses of bootstrap names, each once.

    A name that cannot be resolved stays as it is: connecting to it says what is wrong.
    """
    canonical: dict[Endpoint, None] = {}
    for endpoint in endpoints:
        try:
            addresses = await network.addresses(endpoint.host)
        except OSError:
            canonical[endpoint] = None
            continue
        for address in addresses:
            canonical[Endpoint(await network.canonical_name(address), endpoint.port)] = None
    return tuple(canonical)
