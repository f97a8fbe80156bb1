"""Canonical names of bootstrap addresses, on a simulated network."""

import trio
from trio.testing import MockClock

from trio_kafka.clients.client import metadata_of, open_client
from trio_kafka.clients.dns import CANONICAL, canonical_bootstrap
from trio_kafka.clients.settings.common import ClientSettings
from trio_kafka.model import Endpoint
from trio_kafka.testing.simulate import simulate
from trio_kafka.world.simulated import Universe


async def test_name_stands_for_the_canonical_names_of_its_addresses(
    autojump_clock: MockClock,
) -> None:
    universe = Universe(0)
    network = universe.machine("here").network
    for name in ("one", "two"):
        universe.machine(name)
    universe.names["cluster"] = ("one", "two")
    bootstrap = [Endpoint("cluster", 9092), Endpoint("two", 9092), Endpoint("gone", 1)]

    names = await canonical_bootstrap(network, bootstrap)

    assert names == (Endpoint("one", 9092), Endpoint("two", 9092), Endpoint("gone", 1))


@simulate(seeds=1)
async def test_client_bootstraps_from_canonical_names_only_if_it_is_set(sim):
    address = sim.lives.address
    sim.universe.names["cluster"] = (address.host,)
    bootstraps = []
    for lookup in (CANONICAL, "use_all_dns_ips"):
        settings = ClientSettings(
            bootstrap_servers=(f"cluster:{address.port}",), client_dns_lookup=lookup
        )
        metadata = metadata_of(settings, sim.clients)
        async with open_client(metadata, name="client"):
            metadata.request_refresh()
            with trio.fail_after(10):
                await metadata.wait_broker()
        bootstraps.append(metadata.bootstrap[0].host)

    assert bootstraps == [address.host, "cluster"]
