"""This node as one of its links: `links[node_id]` asks its own handlers."""

import pytest
import trio
from trio.testing import MockClock

from tests.peers.kit import link_from
from tests.requests.loopback.test_client import fetch, produce
from trio_kafka.controls.interceptors import RecordingOwner
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.peers.errors import DeadlineError, PeerError
from trio_kafka.peers.link import Link
from trio_kafka.peers.links import Links
from trio_kafka.plugin import Context
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.requests.loopback import LoopbackLink
from trio_kafka.security.principal import Principal
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.sample_apis import EchoRequest
from trio_kafka.testing.simulation import simulated_world

NODE = Principal("User", "node")


def link_to(served: ServedBroker) -> Link:
    client = served.broker.parts.in_process
    return LoopbackLink(name="node 1", client=client, principal=NODE, client_id="links")


def soon() -> float:
    return trio.current_time() + 5.0


async def test_ask_returns_the_response_of_this_nodes_handlers(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with served_broker(world) as served:
        await served.create_topic("t")
        with Links("links", lambda _: link_from(world), own={1: link_to(served)}) as links:
            response = await links[1].ask(MetadataRequest(None), deadline=soon())

    assert [topic.name for topic in response.topics] == ["t"]


async def test_version_of_a_request_can_be_limited_by_its_sender(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        versions = []

        def look(_: MetadataRequest, context: Context) -> None:
            versions.append((context.version, context.client_id, context.principal))

        served.broker.parts.interceptors.add(
            "before", MetadataRequest, look, order=1, owner=RecordingOwner()
        )
        await link_to(served).ask(MetadataRequest(None), deadline=soon(), at_most=5)

    assert versions == [(5, "links", "User:node")]


async def test_deadline_ends_a_request_of_a_loopback_link_and_its_delayed_fetch(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        await served.create_topic("t")
        request = fetch("t", max_wait_ms=60_000)
        begin = trio.current_time()

        with pytest.raises(DeadlineError, match=r"^node 1: Fetch: no answer in time$") as late:
            await link_to(served).ask(request, deadline=begin + 2.0, at_most=12)

        assert late.value.sent
        assert trio.current_time() == pytest.approx(begin + 2.0)
        assert served.broker.parts.in_process.connections == {}
        assert served.broker.purgatories.fetch.waiting == 0


async def test_loopback_link_raises_unsupported_version_for_an_api_that_is_not_served(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        with pytest.raises(KafkaError) as unsupported:
            await link_to(served).ask(EchoRequest("a"), deadline=soon())

    assert unsupported.value.code is ErrorCode.UNSUPPORTED_VERSION


async def test_loopback_link_raises_a_peer_error_for_a_request_that_would_close_a_connection(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        await served.create_topic("t")
        with pytest.raises(PeerError, match=r"^node 1: Produce: .*UNKNOWN_TOPIC_OR_PARTITION"):
            await link_to(served).ask(
                produce("t", acks=0, partition=7), deadline=soon(), at_most=12
            )
