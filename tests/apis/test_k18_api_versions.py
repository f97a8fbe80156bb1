"""ApiVersions: what is served, said in every version."""

import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from trio.testing import MockClock

from trio_kafka.plugin import Context, api
from trio_kafka.protocol.messages.k00_produce import ProduceRequest
from trio_kafka.protocol.messages.k18_api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from trio_kafka.requests.api import api_of
from trio_kafka.requests.parts import StaticFeatures
from trio_kafka.testing.planes import RunningPlane, running_plane
from trio_kafka.testing.sample_apis import EchoRequest
from trio_kafka.testing.scripted_client import ScriptedClient, connected, frame
from trio_kafka.testing.simulation import simulated_world
from trio_kafka_apis.k18_api_versions import api_versions


@api(ProduceRequest)
def produce(request: ProduceRequest, context: Context) -> None: ...


@api(EchoRequest)
def echo(request: EchoRequest, context: Context) -> None: ...


@asynccontextmanager
async def asking() -> AsyncIterator[tuple[RunningPlane, ScriptedClient]]:
    world = simulated_world()
    async with (
        running_plane(world, [api_versions, produce]) as plane,
        connected(world, plane.endpoint) as client,
    ):
        yield plane, client


def versions(answer: ApiVersionsResponse) -> list[tuple[int, int, int]]:
    return [(key.api_key, key.min_version, key.max_version) for key in answer.api_keys]


@pytest.mark.parametrize("version", range(6))
async def test_api_versions_lists_the_apis_of_the_registry(
    autojump_clock: MockClock, version: int
) -> None:
    async with asking() as (_, client):
        answer = await client.ask(ApiVersionsRequest("trio", "1.0"), version)

    assert answer.error_code == 0
    assert versions(answer) == [(0, 0, 13), (18, 0, 5)]
    assert answer.throttle_time_ms == 0


async def test_the_response_header_is_version_0_for_flexible_versions_too(
    autojump_clock: MockClock,
) -> None:
    async with asking() as (_, client):
        await client.send(
            frame(18, 3, b"\x02x\x02x\x00", client_id="java-raw", correlation=0xF6, flexible=True)
        )
        data = await client.receive_frame()

    assert data[:7] == struct.pack(">ihb", 0xF6, 0, 3)
    assert data[-5:] == bytes(5)


async def test_an_unsupported_version_is_answered_in_version_0_with_the_supported_versions(
    autojump_clock: MockClock,
) -> None:
    async with asking() as (_, client):
        await client.send(frame(18, 6, b"\x02x\x02x\x00\x00\x00", correlation=4, flexible=True))
        correlation, answer = await client.receive_answer(ApiVersionsResponse, 0)

        assert (correlation, answer.error_code) == (4, 35)
        assert answer.api_keys == [ApiVersion(18, 0, 5)]
        assert (await client.ask(ApiVersionsRequest(), 0)).error_code == 0


@pytest.mark.parametrize("name", ["", " ", "-a", "a-", ".", "a b", "é", "a\n"])
async def test_an_invalid_client_software_name_or_version_is_an_invalid_request(
    autojump_clock: MockClock, name: str
) -> None:
    async with asking() as (plane, client):
        for request in (ApiVersionsRequest(name, "1"), ApiVersionsRequest("trio", name)):
            answer = await client.ask(request, 3)
            assert (answer.error_code, answer.api_keys) == (42, [])
        assert plane.connections[0].software is None


async def test_an_error_response_has_the_same_bytes_as_that_of_kafka(
    autojump_clock: MockClock,
) -> None:
    async with asking() as (_, client):
        await client.send(frame(18, 3, b"\1\1\0", correlation=0xF5, flexible=True))

        assert (await client.receive_frame()).hex() == "000000f5002a010000000000"


async def test_the_software_name_and_version_of_a_client_are_stored(
    autojump_clock: MockClock,
) -> None:
    async with asking() as (plane, client):
        await client.ask(ApiVersionsRequest("apache-kafka-java", "4.4.0"), 4)

        assert plane.connections[0].software == ("apache-kafka-java", "4.4.0")


async def test_a_long_client_software_name_is_truncated(autojump_clock: MockClock) -> None:
    async with asking() as (plane, client):
        for _ in range(2):
            answer = await client.ask(ApiVersionsRequest("n" * 30_000, "1" * 30_000), 4)

            assert answer.error_code == 0
            assert plane.connections[0].software == ("n" * 256, "1" * 256)


@pytest.mark.parametrize(
    ("cluster", "node", "error"),
    [
        (None, -1, 0),
        ("cluster", 1, 0),
        ("cluster", 2, 129),
        ("other", 1, 129),
        ("cluster", -1, 42),
        (None, 1, 42),
    ],
)
async def test_a_wrong_cluster_or_node_id_is_refused_since_version_5(
    autojump_clock: MockClock, cluster: str | None, node: int, error: int
) -> None:
    async with asking() as (_, client):
        answer = await client.ask(ApiVersionsRequest("trio", "1", cluster, node), 5)
        assert answer.error_code == error
        assert (await client.ask(ApiVersionsRequest("trio", "1", cluster, node), 4)).error_code == 0


async def test_the_response_changes_with_the_registry_and_the_features(
    autojump_clock: MockClock,
) -> None:
    ask = ApiVersionsRequest("trio", "1")
    async with asking() as (plane, client):
        assert (await client.ask(ask, 4)).finalized_features_epoch == -1
        echo_api = api_of(echo)
        assert echo_api is not None
        plane.parts.apis.add(echo_api)
        assert (10100, 0, 1) in versions(await client.ask(ask, 4))

        plane.parts.features = StaticFeatures(
            {"metadata.version": (7, 30), "group.version": (0, 1)}, {"metadata.version": 29}, 12
        )
        answer = await client.ask(ask, 4)
        assert answer.finalized_features_epoch == 12
        assert [
            (feature.name, feature.min_version, feature.max_version)
            for feature in answer.supported_features
        ] == [
            ("group.version", 0, 1),
            ("metadata.version", 7, 30),
        ]
        (finalized,) = answer.finalized_features
        assert (finalized.name, finalized.min_version_level, finalized.max_version_level) == (
            "metadata.version",
            29,
            29,
        )
        assert [feature.name for feature in (await client.ask(ask, 3)).supported_features] == [
            "metadata.version"
        ]


async def test_an_unchanged_response_is_the_same_cached_bytes_object(
    autojump_clock: MockClock,
) -> None:
    async with asking() as (plane, client):
        await client.ask(ApiVersionsRequest("trio", "1"), 3)

        request = plane.connections[0]
        context = Context(_Versioned(request), plane.parts, 3)  # type: ignore[arg-type]
        first = api_versions(ApiVersionsRequest("trio", "1"), context)
        assert api_versions(ApiVersionsRequest("trio", "1"), context) is first


class _Versioned:
    """A request of version 3, as far as the handler is concerned."""

    code = 18 << 16 | 3

    def __init__(self, connection: object) -> None:
        self.connection = connection
