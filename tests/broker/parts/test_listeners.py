"""The listeners of a broker as a part: bound at the start."""

import pytest

from tests.broker.kit import APIS, config_of
from trio_kafka.broker import Broker, StartError
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.testing.scripted_client import connected
from trio_kafka_apis.k18_api_versions import TELEMETRY


async def test_start_on_a_taken_address_fails_and_names_the_listener(world, autojump_clock) -> None:
    await world.network.listen("127.0.0.1", 9092)
    config = config_of(
        {
            "listeners": "ONE://127.0.0.1:0,TWO://127.0.0.1:9092",
            "listener.security.protocol.map": "ONE:PLAINTEXT,TWO:PLAINTEXT",
            "inter.broker.listener.name": "ONE",
        }
    )

    with pytest.raises(StartError) as caught:
        async with Broker(config, world, format_if_empty=True, apis=APIS):
            pytest.fail("it started")

    reason = str(caught.value)
    assert reason.startswith("listener TWO://127.0.0.1:9092: ")
    assert reason.endswith(" in use: stop what listens there, or change `listeners`")
    assert world.locks == {}


async def test_every_listener_serves_requests(world, autojump_clock) -> None:
    config = config_of(
        {
            "listeners": "ONE://127.0.0.1:0,TWO://127.0.0.1:0",
            "listener.security.protocol.map": "ONE:PLAINTEXT,TWO:PLAINTEXT",
            "inter.broker.listener.name": "ONE",
        }
    )

    async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
        assert list(broker.endpoints) == ["ONE", "TWO"]
        for address in broker.endpoints.values():
            async with connected(world, address) as client:
                answer = await client.ask(ApiVersionsRequest("test", "1"), 3)
                assert {api_key.api_key for api_key in answer.api_keys} == set(
                    APIS.names
                ) - TELEMETRY
        assert broker.endpoint == broker.endpoints["ONE"]
