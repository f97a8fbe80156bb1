"""Links in virtual time: what an ask gets from a peer that answers, is silent, dies or returns."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.peers.kit import PORT, Node, echo, link_from, log_in, running, served
from trio_kafka.errors import ErrorCode, KafkaError, ProtocolError
from trio_kafka.model import Endpoint
from trio_kafka.peers.backoff import Backoff, Reconnection
from trio_kafka.peers.errors import DeadlineError, PeerError
from trio_kafka.peers.link import StreamLink
from trio_kafka.peers.session import Profile, Session
from trio_kafka.plugin import Context, api
from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.errors import EncodeError
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k36_sasl_authenticate import SaslAuthenticateRequest
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.planes import running_plane
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse
from trio_kafka.testing.simulation import run_simulated, simulated_world
from trio_kafka.wire.server import small_answer
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld
from trio_kafka.world.simulated import SimulatedWorld, Universe
from trio_kafka_apis.k18_api_versions import api_versions


def soon() -> float:
    return trio.current_time() + 5.0


@asynccontextmanager
async def linked(node: Node, room: int = 1 << 16, **options: Any) -> AsyncIterator[StreamLink]:
    """A node on machine `there`, and a link to it from machine `here`.

    room: bytes in flight and unread in one direction.
    """
    here = simulated_world("here")
    here.universe.room = room
    async with running(node, here.universe.machine("there")):
        link = link_from(here, **options)
        yield link
        link.close()


def there(link: StreamLink) -> SimulatedWorld:
    world = link.world
    assert isinstance(world, SimulatedWorld)
    machine: SimulatedWorld = world.universe.machines["there"]
    return machine


async def test_ask_connects_and_returns_the_response_in_the_highest_common_version(
    autojump_clock: MockClock,
) -> None:
    node = Node()
    async with linked(node) as link:
        response = await link.ask(EchoRequest("a", 7), deadline=soon())

    assert response == EchoResponse(text="a", number=7)
    assert [(version, type(request)) for _, version, request in node.requests] == [
        (4, ApiVersionsRequest),
        (1, EchoRequest),
    ]


async def test_version_of_a_request_can_be_limited_by_its_sender(
    autojump_clock: MockClock,
) -> None:
    node = Node()
    async with linked(node) as link:
        await link.ask(EchoRequest("a"), deadline=soon(), at_most=0)

    assert node.requests[-1][1] == 0


async def test_second_ask_uses_the_same_connection(autojump_clock: MockClock) -> None:
    node = Node()
    async with linked(node) as link:
        await link.ask(EchoRequest("a"), deadline=soon())
        await link.ask(EchoRequest("b"), deadline=soon())

        assert link.figures() == {
            "connected": True,
            "asked": 2,
            "connections": 1,
            "in_flight": 0,
            "waiting": 0,
            "failures": 0,
        }
    assert node.connections == 1


async def test_asks_of_several_tasks_are_sent_in_order_and_get_their_own_responses(
    autojump_clock: MockClock,
) -> None:
    node, responses = Node(), dict[str, str]()
    async with linked(node) as link, trio.open_nursery() as nursery:

        async def ask(text: str) -> None:
            responses[text] = (await link.ask(EchoRequest(text), deadline=soon())).text

        for text in "abcdef":
            nursery.start_soon(ask, text)
            await wait_all_tasks_blocked()

    assert node.echoes == list("abcdef")
    assert responses == {text: text for text in "abcdef"}


async def test_large_request_and_response_are_sent_whole(autojump_clock: MockClock) -> None:
    text = "x" * 30_000
    async with linked(Node(), room=1000) as link:
        assert (await link.ask(EchoRequest(text), deadline=soon())).text == text


async def test_ask_after_a_restart_of_the_peer_succeeds_on_a_new_connection(
    autojump_clock: MockClock,
) -> None:
    here, node = simulated_world("here"), Node()
    machine = here.universe.machine("there")
    link = link_from(here)
    async with running(node, machine):
        await link.ask(EchoRequest("a"), deadline=soon())
    await trio.sleep(0.1)
    async with running(node, machine):
        await link.ask(EchoRequest("b"), deadline=soon())
        link.close()

    assert node.echoes == ["a", "b"]
    assert node.connections == 2


async def test_ask_in_flight_fails_when_its_peer_stops_and_the_next_ask_connects_again(
    autojump_clock: MockClock,
) -> None:
    here, node = simulated_world("here"), Node()
    machine = here.universe.machine("there")
    link = link_from(here)
    async with running(node, machine) as scope:
        node.answers[EchoRequest] = lambda _: scope.cancel()
        with pytest.raises(
            PeerError, match=r"^node 2 at there:9092: Echo: the peer closed"
        ) as lost:
            await link.ask(EchoRequest("a"), deadline=soon())
    assert lost.value.sent
    node.answers[EchoRequest] = echo
    async with running(node, machine):
        assert (await link.ask(EchoRequest("b"), deadline=soon())).text == "b"
        link.close()


async def test_deadline_ends_an_ask_whose_peer_is_silent_and_closes_its_connection(
    autojump_clock: MockClock,
) -> None:
    node = Node()
    async with linked(node) as link:
        node.answers[EchoRequest] = lambda _: None
        begin = trio.current_time()

        with pytest.raises(DeadlineError, match=r"^node 2: Echo: no answer in time$") as late:
            await link.ask(EchoRequest("a"), deadline=begin + 3.0)

        assert trio.current_time() == pytest.approx(begin + 3.0)
        assert late.value.sent
        assert not link.is_connected
        await trio.sleep(0.1)
        assert node.lost == 1


async def test_response_after_the_deadline_is_not_taken_for_that_of_the_next_ask(
    autojump_clock: MockClock,
) -> None:
    node = Node()
    async with linked(node) as link:
        await link.ask(EchoRequest("first"), deadline=soon())
        there(link).universe.latency = 2.0
        with pytest.raises(DeadlineError):
            await link.ask(EchoRequest("late"), deadline=trio.current_time() + 3.0)
        there(link).universe.latency = 0.001

        response = await link.ask(EchoRequest("next"), deadline=soon())

    assert response.text == "next"
    assert node.echoes == ["first", "late", "next"]


async def test_ask_whose_deadline_has_passed_is_not_sent(autojump_clock: MockClock) -> None:
    node = Node()
    async with linked(node) as link:
        with pytest.raises(DeadlineError, match="could not be sent in time") as late:
            await link.ask(EchoRequest("a"), deadline=trio.current_time() - 1)

    assert not late.value.sent
    assert node.requests == []


async def test_cancelled_ask_closes_its_connection_and_the_next_ask_gets_its_own_response(
    autojump_clock: MockClock,
) -> None:
    node = Node()
    async with linked(node) as link:
        node.answers[EchoRequest] = lambda _: None
        with trio.move_on_after(1.0) as scope:
            await link.ask(EchoRequest("cancelled"), deadline=soon())
        assert scope.cancelled_caught
        node.answers[EchoRequest] = echo

        assert (await link.ask(EchoRequest("next"), deadline=soon())).text == "next"
        assert node.lost == 1


async def test_ask_cancelled_before_its_turn_does_not_affect_the_ask_in_flight(
    autojump_clock: MockClock,
) -> None:
    node = Node()
    responses = []
    async with linked(node) as link, trio.open_nursery() as nursery:

        async def ask() -> None:
            responses.append((await link.ask(EchoRequest("first"), deadline=soon())).text)

        await link.ask(EchoRequest("opened"), deadline=soon())
        there(link).universe.latency = 1.0
        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        with pytest.raises(DeadlineError, match="could not be sent"):
            await link.ask(EchoRequest("second"), deadline=trio.current_time() + 0.5)
        with trio.move_on_after(0.1):
            await link.ask(EchoRequest("third"), deadline=soon())

    assert responses == ["first"]
    assert node.echoes == ["opened", "first"]
    assert node.connections == 1


@pytest.mark.parametrize("silent_in", [ApiVersionsRequest, SaslAuthenticateRequest])
async def test_ask_cancelled_in_the_handshake_leaves_no_connection_behind(
    autojump_clock: MockClock, silent_in: type[object]
) -> None:
    node = Node()
    node.answers[silent_in] = lambda _: None
    async with linked(node, session=lambda: Session(Profile(), log_in())) as link:
        with trio.move_on_after(1.0) as scope:
            await link.ask(EchoRequest("a"), deadline=soon())
        await trio.sleep(0.1)

        assert scope.cancelled_caught
        assert not link.is_connected
        assert (node.connections, node.lost) == (1, 1)
        assert link.reconnection.failures == 0


async def test_ask_cancelled_while_its_request_is_half_sent_closes_the_connection(
    autojump_clock: MockClock,
) -> None:
    node = Node()
    async with linked(node, room=1000) as link:
        await link.ask(EchoRequest("first"), deadline=soon())
        there(link).universe.latency = 1.0
        with trio.move_on_after(0.5):
            await link.ask(EchoRequest("x" * 30_000), deadline=soon())
        there(link).universe.latency = 0.001

        assert (await link.ask(EchoRequest("next"), deadline=soon())).text == "next"
        await trio.sleep(5.0)
        assert node.lost == 1
    assert node.echoes == ["first", "next"]


async def test_failed_attempts_to_connect_are_spaced_by_the_backoff(
    autojump_clock: MockClock,
) -> None:
    here = simulated_world("here")
    here.universe.machine("there")
    link = link_from(here, reconnection=Reconnection(Backoff(0.05, 1.0)))
    begin, times = trio.current_time(), []

    for _ in range(8):
        with pytest.raises(PeerError, match=r"^node 2 at there:9092: connecting: .*no listener"):
            await link.ask(EchoRequest("a"), deadline=soon())
        times.append(trio.current_time() - begin)

    pauses = [later - earlier for earlier, later in pairwise(times)]
    for pause, expected in zip(pauses, (0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0), strict=True):
        assert 0.8 * expected <= pause <= 1.2 * expected + 0.01


async def test_backoff_begins_again_after_a_connection(autojump_clock: MockClock) -> None:
    here, node = simulated_world("here"), Node()
    machine = here.universe.machine("there")
    link = link_from(here)
    for _ in range(4):
        with pytest.raises(PeerError):
            await link.ask(EchoRequest("a"), deadline=soon())
    async with running(node, machine):
        await link.ask(EchoRequest("a"), deadline=soon())
        link.close()

    assert link.reconnection == Reconnection()


async def test_ask_of_an_unreachable_peer_fails_after_the_connection_timeout(
    autojump_clock: MockClock,
) -> None:
    async with linked(Node(), connect_s=2.0) as link:
        there(link).universe.cut("here", "there")
        begin = trio.current_time()

        with pytest.raises(PeerError, match="connecting takes more than 2 s") as failure:
            await link.ask(EchoRequest("a"), deadline=soon())

        assert trio.current_time() == pytest.approx(begin + 2.0)
        assert not failure.value.sent
        assert link.reconnection.failures == 1


async def test_ask_of_a_peer_silent_in_the_handshake_fails_after_the_connection_timeout(
    autojump_clock: MockClock,
) -> None:
    node = Node()
    node.answers[ApiVersionsRequest] = lambda _: None
    async with linked(node, connect_s=2.0) as link:
        with pytest.raises(PeerError, match="connecting takes more than 2 s"):
            await link.ask(EchoRequest("a"), deadline=soon())
        await trio.sleep(0.1)

        assert node.lost == 1


async def test_request_that_the_peer_does_not_serve_is_an_error_and_the_connection_stays(
    autojump_clock: MockClock,
) -> None:
    node = Node()
    async with linked(node) as link:
        with pytest.raises(KafkaError, match="no version of MetadataRequest") as unsupported:
            await link.ask(MetadataRequest(None), deadline=soon())
        with pytest.raises(EncodeError):
            await link.ask(EchoRequest("a", 1 << 40), deadline=soon())
        await link.ask(EchoRequest("a"), deadline=soon())

    assert unsupported.value.code is ErrorCode.UNSUPPORTED_VERSION
    assert node.connections == 1


async def test_bytes_that_are_no_response_end_the_connection(autojump_clock: MockClock) -> None:
    node = Node()
    async with linked(node) as link:
        node.answers[EchoRequest] = lambda _: b"HTTP/1.1 400 Bad Request\r\n"
        with pytest.raises(
            ProtocolError, match=r"^node 2 at there:9092: Echo: answer of 1213486160"
        ):
            await link.ask(EchoRequest("a"), deadline=soon())
        node.answers[EchoRequest] = echo

        assert (await link.ask(EchoRequest("b"), deadline=soon())).text == "b"


async def test_connection_with_unrequested_bytes_is_replaced_before_the_next_request(
    autojump_clock: MockClock,
) -> None:
    node = Node()
    async with linked(node) as link:
        response = to_bytes(EchoResponse(text="a"), 1)
        node.answers[EchoRequest] = lambda _: small_answer(2, response, flexible=True) + b"!"
        await link.ask(EchoRequest("a"), deadline=soon())
        node.answers[EchoRequest] = echo

        assert (await link.ask(EchoRequest("b"), deadline=soon())).text == "b"
    assert node.connections == 2


async def test_request_without_a_response_is_not_waited_for(autojump_clock: MockClock) -> None:
    node = Node()
    async with linked(node) as link:
        node.answers[EchoRequest] = lambda _: None
        await link.tell(EchoRequest("unanswered"), deadline=soon())
        node.answers[EchoRequest] = lambda request: echo(request) if request.number else None
        response = await link.ask(EchoRequest("answered", 1), deadline=soon())

    assert response.text == "answered"
    assert node.echoes == ["unanswered", "answered"]


async def test_handshake_is_made_on_each_connection_before_the_first_request(
    autojump_clock: MockClock,
) -> None:
    node = Node()
    async with linked(node, session=lambda: Session(Profile(), log_in())) as link:
        await link.ask(EchoRequest("a"), deadline=soon())
        await trio.sleep(10.0)  # the session has expired
        await link.ask(EchoRequest("b"), deadline=soon())

    names = [type(request).__name__.removesuffix("Request") for _, _, request in node.requests]
    assert names == 2 * ["ApiVersions", "SaslHandshake", "SaslAuthenticate", "Echo"]
    assert node.connections == 2


async def test_error_of_the_handshake_is_raised_by_the_ask_and_delays_the_next_attempt(
    autojump_clock: MockClock,
) -> None:
    node = Node()
    async with linked(node, session=lambda: Session(Profile(), log_in(b"wrong"))) as link:
        with pytest.raises(KafkaError, match="SASL_AUTHENTICATION_FAILED"):
            await link.ask(EchoRequest("a"), deadline=soon())

        assert not link.is_connected
        assert link.reconnection.not_before > trio.current_time()
        await trio.sleep(0.1)
    assert node.echoes == []
    assert node.lost == 1


async def test_throttled_link_sends_nothing_until_the_throttle_time_is_over(
    autojump_clock: MockClock,
) -> None:
    node = Node()
    node.answers[ApiVersionsRequest] = lambda _: throttled(2000)
    async with linked(node) as link:
        await link.ask(ApiVersionsRequest("a", "1"), deadline=soon())
        begin = trio.current_time()

        await link.ask(EchoRequest("a"), deadline=soon())

        assert trio.current_time() - begin == pytest.approx(2.0, abs=0.01)


def throttled(throttle_ms: int) -> Any:
    answer = served({10100: (0, 1), 18: (0, 4)})
    answer.throttle_time_ms = throttle_ms
    return answer


async def test_node_that_has_moved_is_asked_at_its_new_address(autojump_clock: MockClock) -> None:
    here, old, new = simulated_world("here"), Node(), Node()
    machine, ports = here.universe.machine("there"), [PORT]
    async with running(old, machine), running(new, machine, PORT + 1):
        link = link_from(here, address=lambda: Endpoint("there", ports[-1]))
        await link.ask(EchoRequest("a"), deadline=soon())
        ports.append(PORT + 1)
        await link.ask(EchoRequest("b"), deadline=soon())
        link.close()

    assert (old.echoes, new.echoes) == (["a"], ["b"])


async def test_close_ends_the_ask_in_flight(autojump_clock: MockClock) -> None:
    node = Node()
    async with linked(node) as link, trio.open_nursery() as nursery:
        node.answers[EchoRequest] = lambda _: None

        async def close_soon() -> None:
            await trio.sleep(1.0)
            link.close()

        nursery.start_soon(close_soon)
        with pytest.raises(PeerError, match="node 2 at there:9092: Echo: "):
            await link.ask(EchoRequest("a"), deadline=soon())


async def test_link_works_over_real_sockets() -> None:
    world = RealWorld(SkippingClock())
    text = "x" * 30_000

    @api(EchoRequest)
    def answer(request: EchoRequest, context: Context) -> EchoResponse:
        return EchoResponse(text=f"{context.client_id}: {request.text}")

    async with running_plane(world, [answer, api_versions]) as plane:
        link = link_from(world, address=lambda: plane.endpoint)
        for _ in range(2):
            response = await link.ask(EchoRequest(text), deadline=soon())
            assert response.text == f"link: {text}"
            link.close()
    with pytest.raises(PeerError, match=r"connecting: .*refused") as refused:
        await link.ask(EchoRequest("a"), deadline=soon())
    assert not refused.value.sent


async def test_broker_that_has_crashed_and_started_again_answers_the_next_ask(
    autojump_clock: MockClock,
) -> None:
    here = simulated_world("here")
    link = link_from(here)
    settings = {"listeners": f"PLAINTEXT://there:{PORT}"}
    for _ in range(2):
        machine = here.universe.machine("there")
        async with served_broker(machine, settings):
            response = await link.ask(MetadataRequest(None), deadline=soon(), at_most=12)
            assert [broker.port for broker in response.brokers] == [PORT]
        machine.crash(power=False)
    link.close()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_each_ask_gets_its_own_response_despite_cancellations_and_restarts(seed: int) -> None:
    run_simulated(ask_in_trouble, seed, moody=True)


async def ask_in_trouble(universe: Universe) -> None:
    chance = universe.chance("trouble")
    here, machine, node = universe.machine("here"), universe.machine("there"), Node()
    link = link_from(here)
    answered = 0

    async def restart() -> None:
        while True:
            with trio.move_on_after(chance.uniform(0.1, 1.0)):
                await node.serve(machine)
            await trio.sleep(chance.uniform(0.0, 0.1))

    async def ask(name: str) -> None:
        nonlocal answered
        for number in range(100):
            text = f"{name}-{number}" * chance.choice((1, 1000))
            try:
                with trio.move_on_after(chance.choice((0.0005, 0.002, 9.0))):
                    deadline = trio.current_time() + chance.choice((0.003, 1.0, 2.0))
                    response = await link.ask(EchoRequest(text, number), deadline=deadline)
                    assert (response.text, response.number) == (text, number)
                    answered += 1
            except PeerError:
                pass

    async with trio.open_nursery() as nursery:
        nursery.start_soon(restart)
        async with trio.open_nursery() as asking:
            for name in "abc":
                asking.start_soon(ask, name)
        nursery.cancel_scope.cancel()
    link.close()
    assert answered > 50
    assert node.lost > 5
