from tests.broker.kit import APIS, config_of
from trio_kafka.broker import Broker
from trio_kafka.model import Endpoint


async def test_bootstrap_is_the_advertised_address_and_not_the_bound_address(
    world, autojump_clock
) -> None:
    config = config_of({"advertised.listeners": "PLAINTEXT://[::1]:29092"})

    async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
        assert broker.bootstrap == "[::1]:29092"
        assert broker.endpoint == broker.endpoints["PLAINTEXT"] != Endpoint("::1", 29092)
        assert broker.world is world
        assert broker.config is config
        assert broker.node.name == "broker-1"
        assert broker.tasks.runs("raft")
        assert broker.counters is broker.parts.counters
        assert broker.stop.durations == {}
