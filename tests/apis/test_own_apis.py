"""APIs of our own: what changes something is for this machine alone."""

import importlib

from trio.testing import MockClock

from trio_kafka.errors import ErrorCode
from trio_kafka.model import Endpoint
from trio_kafka.requests.api import Api, api_of
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.scripted_client import connected, newest
from trio_kafka.testing.simulation import simulated_world
from trio_kafka_apis.listed import LISTED
from trio_kafka_builtin.audit.subjects import ADMIN

OURS = range(10_000, 10_100)
READS = {10001, 10002, 10005, 10010}  # that change nothing


def changing_apis() -> list[Api]:
    result = []
    for key, *_, module in LISTED:
        if key in OURS and key not in READS:
            source = vars(importlib.import_module(f"trio_kafka_apis.{module}"))
            result += [api for api in map(api_of, source.values()) if api is not None]
    return result


async def test_changing_apis_are_refused_from_another_machine(
    autojump_clock: MockClock,
) -> None:
    host = simulated_world("host")
    other = host.universe.machine("other")
    settings = {
        "listeners": "PLAINTEXT://0.0.0.0:0,INSIDE://127.0.0.1:0",
        "advertised.listeners": "PLAINTEXT://host:9092,INSIDE://127.0.0.1:9093",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT",
    }
    apis = changing_apis()
    assert [api.name for api in apis] == ["ReloadPlugin", "RunJob"]
    async with served_broker(host, settings) as served:
        address = Endpoint(host.name, served.broker.endpoints["PLAINTEXT"].port)
        async with connected(other, address) as client:
            for api in apis:
                answer = await client.ask(api.request(), newest(api.request))
                assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_every_changing_api_is_audited() -> None:
    assert {api.key for api in changing_apis()} - set(ADMIN) == set()
