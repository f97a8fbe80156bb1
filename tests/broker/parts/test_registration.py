"""The registration of a broker with its controller, as a part."""

from tests.broker.kit import APIS, config_of
from trio_kafka.broker import Broker

THREE = config_of({"log.dirs": "/a,/b,/c"})


async def test_listener_without_a_host_is_registered_with_the_machine_name(
    world, autojump_clock
) -> None:
    config = config_of({"listeners": "PLAINTEXT://:0"})

    async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
        (endpoint,) = broker.metadata.image.brokers[1].endpoints
        assert endpoint.host == await world.network.host_name()
        assert endpoint.port == broker.endpoint.port
        assert broker.bootstrap == f"{endpoint.host}:{endpoint.port}"


async def test_no_connection_is_accepted_before_the_broker_is_unfenced(
    world, autojump_clock
) -> None:
    async with Broker(THREE, world, format_if_empty=True, apis=APIS) as broker:
        trace = [line.split(" ", 3)[2:] for line in world.universe.trace]
        assert not broker.metadata.image.brokers[1].fenced

    assert not any(rest[-1].startswith("accept") for rest in trace)
