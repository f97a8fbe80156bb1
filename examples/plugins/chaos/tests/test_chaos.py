"""Rules of a file in force."""

import json

import pytest
import trio
from chaos.plugin import chaos
from trio.testing import MockClock

from trio_kafka.plugin import Context, ErrorCode, api
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.simulated import SimulatedWorld

BAD = {"name": "a", "api": "Echo", "client_id": "bad-*", "error": "NOT_LEADER_OR_FOLLOWER"}
TOML = """
[[rules]]
name = "a"
api = "Echo"
client_id = "bad-*"
error = "NOT_LEADER_OR_FOLLOWER"
"""


@api(EchoRequest)
def echo(request: EchoRequest, _: Context) -> EchoResponse:
    return EchoResponse(text=request.text)


def harness_with(world: SimulatedWorld, **settings: str) -> PluginHarness:
    all_settings = {"enabled": "true", **settings}
    return PluginHarness(chaos, handlers=[echo], settings=all_settings, world=world)


async def world_with(name: str, text: str) -> SimulatedWorld:
    world = simulated_world()
    directory = world.directory("/etc", create=True)
    (await directory.create_slow(name, text.encode())).close()
    return world


async def code(harness: PluginHarness, client_id: str = "harness") -> int:
    return (await harness.ask(EchoRequest(), client_id=client_id)).error_code


@pytest.mark.parametrize(
    ("name", "text"), [("r.toml", TOML), ("r.json", json.dumps({"rules": [BAD]}))]
)
async def test_rules_of_a_toml_or_json_file_apply_to_requests(
    autojump_clock: MockClock, name: str, text: str
) -> None:
    world = await world_with(name, text)
    async with harness_with(world, rules=f"/etc/{name}") as harness:
        assert await code(harness) == 0
        assert await code(harness, "bad-1") == ErrorCode.NOT_LEADER_OR_FOLLOWER
        [figures] = [node.figures() for _, node in harness.node.walk() if node.name == "a"]
        assert (figures["seen"], figures["hits"]) == (1, 1)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[[rules]]\nname='a'", r"r\.toml: rule 1: the rule has no effect"),
        (
            TOML + "[[rules]]\nname='a'\ndrop=true",
            r"r\.toml: rule 2: name: 'a' is taken",
        ),
        (TOML + "colour = 'red'", r"r\.toml: rule 1: unknown field 'colour'"),
        ("rules = 3", r"r\.toml: want a list `rules`"),
    ],
)
async def test_chaos_plugin_does_not_start_with_an_invalid_rule_file(
    autojump_clock: MockClock, text: str, why: str
) -> None:
    world = await world_with("r.toml", text)
    with pytest.raises(Exception, match=why):
        async with harness_with(world, rules="/etc/r.toml"):
            pass


async def test_reload_of_the_chaos_plugin_reads_the_rule_file_again(
    autojump_clock: MockClock,
) -> None:
    world = await world_with("r.toml", TOML)
    async with harness_with(world, rules="/etc/r.toml") as harness:
        assert await code(harness, "bad-1") != 0
        directory = world.directory("/etc")
        text = TOML.replace("bad-*", "new-*").encode()
        (await directory.create_slow("r.toml", text, replace=True)).close()

        await harness.host.reload("chaos")

        assert await code(harness, "bad-1") == 0
        assert await code(harness, "new-1") != 0


async def test_delay_rule_delays_the_response(autojump_clock: MockClock) -> None:
    rule = {"name": "late", "delay_s": [1, 2], "times": 1}
    world = await world_with("r.json", json.dumps({"rules": [rule]}))
    async with harness_with(world, rules="/etc/r.json") as harness:
        began = trio.current_time()
        assert await code(harness) == 0
        assert 1 <= trio.current_time() - began <= 2.1


async def test_equal_seeds_fail_the_same_requests(autojump_clock: MockClock) -> None:
    world = await world_with("r.json", json.dumps({"rules": [{**BAD, "probability": 0.5}]}))

    async def run(seed: str) -> list[int]:
        async with harness_with(world, rules="/etc/r.json", seed=seed) as harness:
            return [await code(harness, "bad-1") for _ in range(40)]

    assert await run("a") == await run("a")
    assert await run("a") != await run("b")


async def test_broker_with_the_chaos_plugin_refuses_to_create_topics_of_a_rule(
    autojump_clock: MockClock,
) -> None:
    rule = {"name": "o", "api": "CreateTopics", "topic": "o-*", "error": "POLICY_VIOLATION"}
    world = await world_with("r.json", json.dumps({"rules": [rule]}))
    settings = {"plugin.chaos.enabled": "true", "plugin.chaos.rules": "/etc/r.json"}
    async with PluginHarness(chaos, settings=settings, broker=True, world=world) as harness:
        refused = await harness.ask(CreateTopicsRequest([CreatableTopic("o-1", 1, 1)]))
        created = await harness.ask(CreateTopicsRequest([CreatableTopic("x", 1, 1)]))

    assert refused.topics[0].error_code == ErrorCode.POLICY_VIOLATION
    assert created.topics[0].error_code == 0
