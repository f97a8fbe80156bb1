"""The plugin in a harness: the broker's own routes and codecs, in virtual time."""

import pytest
import trio
from echo_api import Echo, EchoRequest, ListenRequest, echo
from trio.testing import MockClock

from trio_kafka.testing.harness import PluginHarness

INVALID_REQUEST = 42


@pytest.mark.parametrize("version", [0, 1])
async def test_echo_returns_the_text_with_the_prefix(
    autojump_clock: MockClock, version: int
) -> None:
    async with PluginHarness(echo, settings={"prefix": ">"}) as harness:
        answer = await harness.ask(EchoRequest("hello"), version)
        again = await harness.ask(EchoRequest("hello"), version)

        assert (answer.error_code, answer.text, answer.number) == (0, ">hello", 0)
        assert again.number == 1
        assert harness.counters.value("echoed", plugin="echo") == 2


async def test_echo_repeats_the_text_the_requested_number_of_times(
    autojump_clock: MockClock,
) -> None:
    async with PluginHarness(echo) as harness:
        assert (await harness.ask(EchoRequest("ab", times=3))).text == "ababab"
        assert (await harness.ask(EchoRequest("ab", times=0))).error_code == INVALID_REQUEST


async def test_echo_refuses_a_response_above_its_maximum_length(autojump_clock: MockClock) -> None:
    async with PluginHarness(echo, settings={"longest": "5", "prefix": "-"}) as harness:
        assert (await harness.ask(EchoRequest("ab", times=2))).text == "-abab"
        refused = await harness.ask(EchoRequest("a", times=5))
        bomb = await harness.ask(EchoRequest("a" * 1000, times=2**31 - 1))

        assert refused.error_message == "an answer of 6 characters, want at most 5"
        assert bomb.error_code == INVALID_REQUEST
        assert (await harness.ask(ListenRequest())).echoes == [Echo(0, "harness", "-abab")]


async def test_waiting_listeners_get_a_new_echo_at_once(autojump_clock: MockClock) -> None:
    async with PluginHarness(echo) as harness:
        listeners = [harness.client() for _ in range(50)]
        for listener in listeners:
            listener.send(ListenRequest(wait_ms=4000))
        await trio.sleep(1)
        [figures] = [n.figures() for _, n in harness.node.walk() if n.name == "echoes"]
        assert figures == {"echoed": 0, "kept": 0, "listeners": 50}

        began = trio.current_time()
        await harness.ask(EchoRequest("now"), client_id="ada")

        for listener in listeners:
            answer = await listener.receive(ListenRequest())
            assert answer.echoes == [Echo(0, "ada", "now")]
        assert trio.current_time() - began < 0.1
        [figures] = [n.figures() for _, n in harness.node.walk() if n.name == "echoes"]
        assert figures == {"echoed": 1, "kept": 1, "listeners": 0}


@pytest.mark.parametrize(("wait_ms", "waited_s"), [(0, 0), (-5, 0), (700, 0.7), (60_000, 2)])
async def test_listen_request_without_a_new_echo_ends_at_the_longest_allowed_wait(
    autojump_clock: MockClock, wait_ms: int, waited_s: float
) -> None:
    async with PluginHarness(echo, settings={"longest.wait.ms": "2000"}) as harness:
        await harness.ask(EchoRequest("old"))
        began = trio.current_time()
        answer = await harness.ask(ListenRequest(after=0, wait_ms=wait_ms))

        assert answer.echoes == []
        assert trio.current_time() - began == pytest.approx(waited_s, abs=0.05)


async def test_listen_request_returns_only_echoes_after_the_given_number(
    autojump_clock: MockClock,
) -> None:
    async with PluginHarness(echo, settings={"most": "3"}) as harness:
        for text in "abcde":
            await harness.ask(EchoRequest(text))

        assert [echo.text for echo in (await harness.ask(ListenRequest())).echoes] == [
            "c",
            "d",
            "e",
        ]
        later = (await harness.ask(ListenRequest(after=3))).echoes
        assert [(echo.number, echo.text) for echo in later] == [(4, "e")]


async def test_echoes_are_forgotten_after_keep_ms(autojump_clock: MockClock) -> None:
    async with PluginHarness(echo, settings={"keep.ms": "1000"}) as harness:
        await harness.ask(EchoRequest("old"))
        await trio.sleep(0.9)
        assert len((await harness.ask(ListenRequest())).echoes) == 1
        await trio.sleep(0.7)
        assert (await harness.ask(ListenRequest())).echoes == []
        assert (await harness.ask(EchoRequest("new"))).number == 1


async def test_stopped_echo_plugin_leaves_no_node_in_the_tree(autojump_clock: MockClock) -> None:
    async with PluginHarness(echo) as harness:
        node = harness.node
    assert "echoes" not in [child.name for _, child in node.walk()]
