"""Rules in force, and how they come and go."""

import json
from typing import Any

import pytest
import trio
from chaos.plugin import chaos
from trio.testing import MockClock

from trio_kafka.plugin import Context, ErrorCode, api
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from trio_kafka.testing.asgi import ask
from trio_kafka.testing.direct import ClosedError
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.simulated import SimulatedWorld

ON = {"enabled": "true"}
TIMED_OUT = {"name": "t", "api": "Echo", "error": "REQUEST_TIMED_OUT"}


@api(EchoRequest)
def echo(request: EchoRequest, _: Context) -> EchoResponse:
    return EchoResponse(text=request.text)


def harness_with(world: SimulatedWorld | None = None, **settings: str) -> PluginHarness:
    return PluginHarness(chaos, handlers=[echo], settings={**ON, **settings}, world=world)


async def http(harness: PluginHarness, method: str, path: str, body: Any = None) -> Any:
    mount = harness.mounts.find("/chaos")
    assert mount is not None
    sent = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    return await ask(mount.app, method, path, body=sent)


async def code(harness: PluginHarness, client_id: str = "harness") -> int:
    return (await harness.ask(EchoRequest(), client_id=client_id)).error_code


async def world_with(name: str, text: str) -> SimulatedWorld:
    world = simulated_world()
    directory = world.directory("/etc", create=True)
    (await directory.create_slow(name, text.encode())).close()
    return world


TOML = """
[[rules]]
name = "a"
api = "Echo"
client_id = "bad-*"
error = "NOT_LEADER_OR_FOLLOWER"
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("r.toml", TOML),
        ("r.json", json.dumps({"rules": [{**TIMED_OUT, "name": "a", "client_id": "bad-*"}]})),
    ],
)
async def test_rules_of_a_file_are_in_force(
    autojump_clock: MockClock, name: str, text: str
) -> None:
    world = await world_with(name, text)
    async with harness_with(world, rules=f"/etc/{name}") as harness:
        assert await code(harness) == 0
        assert await code(harness, "bad-1") != 0
        answer = await http(harness, "GET", "/chaos")
        [rule] = answer.json()["rules"]
        assert (rule["name"], rule["client_id"]) == ("a", "bad-*")
        assert (rule["fitted"], rule["done"]) == (1, 1)


@pytest.mark.parametrize(
    "text", ["[[rules]]\nname='a'", "rules = 3", "x", "other = []", "[[rules]]\nname='a'\nx=1"]
)
async def test_a_wrong_file_keeps_it_from_starting(autojump_clock: MockClock, text: str) -> None:
    world = await world_with("r.toml", text)
    with pytest.raises(Exception, match=r"r\.toml"):
        async with harness_with(world, rules="/etc/r.toml"):
            pass


async def test_rules_come_and_go(autojump_clock: MockClock) -> None:
    async with harness_with() as harness:
        made = await http(harness, "POST", "/chaos", TIMED_OUT)
        assert (made.status, made.json()) == (201, {"name": "t"})
        assert await code(harness) == ErrorCode.REQUEST_TIMED_OUT
        [figures] = [n.figures() for _, n in harness.node.walk() if n.name == "t"]
        assert figures == {"fitted": 1, "done": 1}

        again = await http(harness, "POST", "/chaos", TIMED_OUT)
        assert (again.status, "already" in again.json()["message"]) == (400, True)
        assert (await http(harness, "DELETE", "/chaos/t")).status == 204
        assert (await http(harness, "DELETE", "/chaos/t")).status == 404
        assert await code(harness) == 0
        assert "t" not in [n.name for _, n in harness.node.walk()]

        for name in "ab":
            await http(harness, "POST", "/chaos", {**TIMED_OUT, "name": name})
        assert (await http(harness, "DELETE", "/chaos")).status == 204
        assert (await http(harness, "GET", "/chaos")).json() == {"rules": []}
        assert (await http(harness, "PUT", "/chaos")).status == 405
        assert (await http(harness, "GET", "/chaos/x")).status == 404


async def test_there_are_so_many_rules_at_most(autojump_clock: MockClock) -> None:
    async with harness_with(most="1") as harness:
        await http(harness, "POST", "/chaos", TIMED_OUT)
        answer = await http(harness, "POST", "/chaos", {**TIMED_OUT, "name": "b"})
        assert "1 rules already" in answer.json()["message"]
        large = await http(harness, "POST", "/chaos", b" " * 70_000)
        assert "more than 65536" in large.json()["message"]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"name": "A b"}, "name"),
        ({"name": None}, "name"),
        ({"api": "Nothing"}, "no 'Nothing'"),
        ({"api": 1}, "api"),
        ({"error": "NOPE"}, "no error"),
        ({"error": "NONE"}, "no error"),
        ({"chance": 1.5}, "chance"),
        ({"chance": True}, "chance"),
        ({"chance": float("nan")}, "chance"),
        ({"delay_ms": [3, 2]}, "delay_ms"),
        ({"delay_ms": [1, 2, 3]}, "delay_ms"),
        ({"delay_ms": "1"}, "delay_ms"),
        ({"delay_ms": 1e12}, "delay_ms"),
        ({"every": 0}, "every"),
        ({"times": -1}, "times"),
        ({"after": 1.5}, "after"),
        ({"close": 1}, "close"),
        ({"from_ms": 5, "until_ms": 5}, "until_ms"),
        ({"colour": "red"}, "colour"),
    ],
)
async def test_what_is_no_rule(
    autojump_clock: MockClock, changed: dict[str, Any], why: str
) -> None:
    async with harness_with() as harness:
        answer = await http(harness, "POST", "/chaos", {**TIMED_OUT, **changed})
        assert (answer.status, why in answer.json()["message"]) == (400, True)
        nothing = await http(harness, "POST", "/chaos", {"name": "a"})
        assert "does nothing" in nothing.json()["message"]
        assert (await http(harness, "POST", "/chaos", b"[")).status == 400
        assert await code(harness) == 0


async def test_requests_are_late_closed_and_counted(autojump_clock: MockClock) -> None:
    async with harness_with() as harness:
        rule = {"name": "late", "delay_ms": [1000, 2000], "times": 1}
        await http(harness, "POST", "/chaos", rule)
        began = trio.current_time()
        assert await code(harness) == 0
        assert 1 <= trio.current_time() - began <= 2.1
        await http(harness, "DELETE", "/chaos")

        rules = [
            {**TIMED_OUT, "name": "third", "after": 1, "every": 3, "times": 2},
        ]
        for one in rules:
            await http(harness, "POST", "/chaos", one)
        assert [await code(harness) for _ in range(8)] == [0, 7, 0, 0, 7, 0, 0, 0]
        await http(harness, "DELETE", "/chaos")

        await http(harness, "POST", "/chaos", {"name": "end", "close": True, "client_id": "c-*"})
        with pytest.raises(ClosedError):
            await code(harness, "c-1")


async def test_a_rule_has_its_time(autojump_clock: MockClock) -> None:
    async with harness_with() as harness:
        rule = {**TIMED_OUT, "from_ms": 1000, "until_ms": 2000}
        await http(harness, "POST", "/chaos", rule)
        found = []
        for _ in range(3):
            found.append(await code(harness))
            await trio.sleep(1.01)
        assert found == [0, 7, 0]


async def test_the_same_seed_has_the_same_faults(autojump_clock: MockClock) -> None:
    async def run(seed: str) -> list[int]:
        async with harness_with(seed=seed) as harness:
            await http(harness, "POST", "/chaos", {**TIMED_OUT, "chance": 0.5})
            return [await code(harness) for _ in range(40)]

    assert await run("a") == await run("a")
    assert await run("a") != await run("b")


async def test_a_whole_broker_is_late_by_topic_and_throttles(autojump_clock: MockClock) -> None:
    settings = {f"plugin.chaos.{key}": text for key, text in ON.items()}
    async with PluginHarness(chaos, settings=settings, broker=True) as harness:
        rule = {"name": "o", "api": "CreateTopics", "topic": "o-*", "error": "POLICY_VIOLATION"}
        await http(harness, "POST", "/chaos", rule)
        throttle = {"name": "slow", "api": "CreateTopics", "throttle_ms": 700}
        await http(harness, "POST", "/chaos", throttle)

        refused = await harness.ask(CreateTopicsRequest([CreatableTopic("o-1", 1, 1)]))
        made = await harness.ask(CreateTopicsRequest([CreatableTopic("x", 1, 1)]))

        assert refused.topics[0].error_code == ErrorCode.POLICY_VIOLATION
        assert (made.topics[0].error_code, made.throttle_time_ms) == (0, 700)
        assert (await harness.ask(ApiVersionsRequest(), 0)).error_code == 0
