"""Several requests in flight on one connection, and the ways in which it ends."""

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.clients.links.kit import link_to, running_link
from tests.peers.kit import Node, echo, running
from trio_kafka.clients.errors import (
    ClosedError,
    NotKafkaError,
    RetriableError,
    TimedOutError,
    UnsupportedError,
)
from trio_kafka.clients.links.calls import Call
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse
from trio_kafka.world.simulated import Universe


def call_of(text: str, results: list[object], **fields: object) -> Call:
    request = EchoRequest(text)
    return Call(request=request, done=results.append, timeout_s=10.0, **fields)  # type: ignore[arg-type]


async def test_requests_are_in_flight_together_up_to_the_limit(autojump_clock: MockClock) -> None:
    universe = Universe(0)
    node = Node()
    node.answers[EchoRequest] = lambda _: None
    results: list[object] = []
    async with (
        running(node, universe.machine("there")),
        running_link(link_to(universe.machine("here"), limit=3)) as link,
    ):
        for number in range(5):
            link.submit(call_of(str(number), results))
        await trio.sleep(1)

        assert node.echoes == ["0", "1", "2"]
        assert (link.in_flight, link.has_room) == (5, False)


async def test_responses_end_their_calls_in_order_and_make_room(autojump_clock: MockClock) -> None:
    universe = Universe(0)
    results: list[object] = []
    async with (
        running(Node(), universe.machine("there")),
        running_link(link_to(universe.machine("here"), limit=2)) as link,
    ):
        for number in range(6):
            link.submit(call_of(str(number), results))
        await trio.sleep(1)

        assert [getattr(result, "text", None) for result in results] == list("012345")
        assert link.has_room


async def test_late_response_ends_all_calls_and_the_next_connection_serves(
    autojump_clock: MockClock,
) -> None:
    universe = Universe(0)
    node = Node()
    node.answers[EchoRequest] = lambda _: None
    results: list[object] = []
    async with (
        running(node, universe.machine("there")),
        running_link(link_to(universe.machine("here"))) as link,
    ):
        link.submit(call_of("lost", results))
        await trio.sleep(5)
        link.submit(call_of("behind", results))
        await trio.sleep(5.1)
        node.answers[EchoRequest] = echo
        answer = await link.ask(EchoRequest("next"), timeout_s=5.0)

    assert [type(result) for result in results] == [TimedOutError, TimedOutError]
    assert all(getattr(result, "sent", False) for result in results)
    assert answer.text == "next"
    assert node.connections == 2


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", bytes(64)])
async def test_bytes_that_are_no_response_end_the_call(
    autojump_clock: MockClock, answer: bytes
) -> None:
    universe = Universe(0)
    node = Node()
    node.answers[EchoRequest] = lambda _: answer
    async with (
        running(node, universe.machine("there")),
        running_link(link_to(universe.machine("here"))) as link,
    ):
        with pytest.raises(NotKafkaError, match=r"broker 2 \(there:9092\): Echo: answer") as caught:
            await link.ask(EchoRequest("a"), timeout_s=5.0)
    assert caught.value.sent


async def test_peer_that_ends_the_stream_ends_the_calls_as_sent(autojump_clock: MockClock) -> None:
    universe = Universe(0)
    node = Node()
    node.answers[EchoRequest] = lambda _: None
    results: list[object] = []
    async with running_link(link_to(universe.machine("here"))) as link:
        async with running(node, universe.machine("there")):
            link.submit(call_of("a", results))
            await trio.sleep(1)
        await trio.sleep(1)

    (error,) = results
    assert isinstance(error, RetriableError)
    assert error.sent


async def test_unanswered_request_ends_when_it_is_sent(autojump_clock: MockClock) -> None:
    universe = Universe(0)
    node = Node()
    results: list[object] = []
    async with (
        running(node, universe.machine("there")),
        running_link(link_to(universe.machine("here"))) as link,
    ):
        await link.ask(EchoRequest("open"), timeout_s=5.0)
        node.answers[EchoRequest] = lambda _: None
        link.submit(call_of("told", results, is_answered=False))

        assert results == [None]
        assert link.in_flight == 0
        await trio.sleep(1)
    assert node.echoes == ["open", "told"]


async def test_request_that_the_socket_does_not_take_is_sent_later(
    autojump_clock: MockClock,
) -> None:
    universe = Universe(0)
    large = "x" * 30_000
    async with (
        running(Node(), universe.machine("there")),
        running_link(link_to(universe.machine("here"), limit=10)) as link,
    ):
        answers: list[EchoResponse] = []

        async def ask() -> None:
            answers.append(await link.ask(EchoRequest(large), timeout_s=60.0))

        async with trio.open_nursery() as nursery:
            for _ in range(8):
                nursery.start_soon(ask)
    assert [len(answer.text) for answer in answers] == [30_000] * 8


async def test_request_that_the_peer_does_not_serve_ends_alone(autojump_clock: MockClock) -> None:
    universe = Universe(0)
    async with (
        running(Node(), universe.machine("there")),
        running_link(link_to(universe.machine("here"))) as link,
    ):
        with pytest.raises(UnsupportedError, match="no version of MetadataRequest") as caught:
            await link.ask(MetadataRequest(None), timeout_s=5.0)
        assert not caught.value.sent
        assert (await link.ask(EchoRequest("a"), timeout_s=5.0)).text == "a"


async def test_idle_connection_is_closed_in_time_and_opened_again(
    autojump_clock: MockClock,
) -> None:
    universe = Universe(0)
    node = Node()
    link = link_to(universe.machine("here"), connections_max_idle_ms=5000)
    async with running(node, universe.machine("there")), running_link(link):
        await link.ask(EchoRequest("a"), timeout_s=5.0)
        await trio.sleep(4.9)
        assert link.is_connected
        await trio.sleep(0.2)
        assert not link.is_connected
        await link.ask(EchoRequest("b"), timeout_s=5.0)
    assert node.connections == 2


async def test_throttled_connection_takes_no_request_until_the_time_has_passed(
    autojump_clock: MockClock,
) -> None:
    universe = Universe(0)
    changes: list[float] = []
    link = link_to(universe.machine("here"))
    link.changed = lambda: changes.append(trio.current_time())
    async with running(Node(), universe.machine("there")), running_link(link):
        await link.ask(EchoRequest("a"), timeout_s=5.0)
        connection = link._connection
        assert connection is not None
        connection.session.not_before = trio.current_time() + 3.0
        connection._blocked.set()
        assert not link.has_room
        start = trio.current_time()
        await link.ask(EchoRequest("b"), timeout_s=10.0)

    assert trio.current_time() - start == pytest.approx(3.0, abs=0.1)
    assert changes[-2] - start == pytest.approx(3.0, abs=0.1)


async def test_end_of_the_link_ends_its_calls_as_closed(autojump_clock: MockClock) -> None:
    universe = Universe(0)
    node = Node()
    node.answers[EchoRequest] = lambda _: None
    results: list[object] = []
    async with running(node, universe.machine("there")):
        async with running_link(link_to(universe.machine("here"), limit=1)) as link:
            link.submit(call_of("sent", results))
            link.submit(call_of("queued", results))
            await trio.sleep(1)
        await wait_all_tasks_blocked()

    assert [type(result) for result in results] == [ClosedError, ClosedError]
    assert [getattr(result, "sent", None) for result in results] == [True, False]
