"""Rules in force, and how they come and go over HTTP."""

import json
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.trio_kafka_builtin.faults.kit import AUTHORIZED, TIMED_OUT, Http, code, harness_with
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from trio_kafka.testing.direct import ClosedError
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.sample_apis import EchoRequest, WaitRequest
from trio_kafka_builtin.faults.plugin import faults


async def test_rules_come_and_go(autojump_clock: MockClock) -> None:
    async with harness_with() as harness:
        http = Http(harness)
        made = await http("POST", body=TIMED_OUT)
        assert (made.status, made.json()) == (201, {**TIMED_OUT, "fitted": 0, "done": 0})
        assert await code(harness) == ErrorCode.REQUEST_TIMED_OUT
        [figures] = [n.figures() for _, n in harness.node.walk() if n.name == "t"]
        assert (figures["fitted"], figures["done"]) == (1, 1)
        assert json.loads(str(figures["rule"]))["error"] == "REQUEST_TIMED_OUT"
        shown = {**TIMED_OUT, "fitted": 1, "done": 1}
        assert (await http("GET")).json() == {"rules": [shown]}
        assert (await http("GET", "/t")).json() == shown

        again = await http("POST", body=TIMED_OUT)
        assert (again.status, "'t' exists already" in again.json()["message"]) == (400, True)
        assert (await http("DELETE", "/t")).status == 204
        assert (await http("DELETE", "/t")).status == 404
        assert await code(harness) == 0
        assert "t" not in [n.name for _, n in harness.node.walk()]

        for name in "ab":
            await http.add(**{**TIMED_OUT, "name": name})
        cleared = await http("DELETE")
        assert (cleared.status, cleared.body) == (204, b"")
        assert (await http("GET")).json() == {"rules": []}
        assert await code(harness) == 0


@pytest.mark.parametrize(
    ("method", "below", "status"),
    [("PUT", "", 405), ("POST", "/t", 405), ("GET", "/x", 404), ("DELETE", "/a/b", 404)],
)
async def test_what_is_not_served(
    autojump_clock: MockClock, method: str, below: str, status: int
) -> None:
    async with harness_with() as harness:
        answer = await Http(harness)(method, below)
        assert (answer.status, answer.json()["error_code"]) == (status, status)


@pytest.mark.parametrize("extensions", [{}, {"trio_kafka": {"authorized": False}}])
async def test_a_plane_without_a_token_serves_no_faults(
    autojump_clock: MockClock, extensions: dict[str, Any]
) -> None:
    async with harness_with() as harness:
        for method in ("GET", "POST", "DELETE"):
            answer = await Http(harness, extensions=extensions)(method, body=TIMED_OUT)
            assert answer.status == 403
            assert "set plugin.http.token" in answer.json()["message"]
        assert await code(harness) == 0


async def test_what_is_no_rule_is_refused_and_changes_nothing(autojump_clock: MockClock) -> None:
    async with harness_with(most="1", max_body_bytes="2000") as harness:
        http = Http(harness)
        wrong = await http("POST", body={**TIMED_OUT, "chance": 2})
        assert (wrong.status, wrong.json()["message"]) == (400, "chance: 2, want 0 to 1")
        assert (await http("POST", body=b"[")).status == 400
        assert (await http("POST", body=b" " * 2001)).status == 413
        assert await code(harness) == 0

        await http.add(**TIMED_OUT)
        answer = await http("POST", body={**TIMED_OUT, "name": "b"})
        assert "1 rules, the most" in answer.json()["message"]


async def test_interceptors_stand_only_where_rules_need_them(autojump_clock: MockClock) -> None:
    async with harness_with() as harness:
        http = Http(harness)
        contributions = harness.hosted.contributions

        def standing() -> list[str]:
            return [one for one in harness.hosted.contributions if not one.startswith("mount:")]

        assert contributions == ["mount:/faults"]
        assert len(harness.interceptors) == 0
        await http.add(**TIMED_OUT)
        assert standing() == ["before:EchoRequest"]
        await http.add(name="late", api="Wait", delay_ms=5)
        assert standing() == ["before:EchoRequest", "around:WaitRequest"]
        await http.add(name="more", api="Echo", delay_ms=5)
        assert sorted(standing()) == ["around:EchoRequest", "around:WaitRequest"]
        assert len(harness.interceptors) == 2
        assert await code(harness) == ErrorCode.REQUEST_TIMED_OUT
        await http("DELETE", "/late")
        assert standing() == ["around:EchoRequest"]
        await http("DELETE")
        assert standing() == []
        assert len(harness.interceptors) == 0


async def test_a_request_meets_its_rule_once(autojump_clock: MockClock) -> None:
    async with harness_with() as harness:
        http = Http(harness)
        await http.add(name="echo", api="Echo", client_id="other", close=True)
        await http.add(name="all", error="REQUEST_TIMED_OUT", after=1, times=1)

        assert [await code(harness) for _ in range(3)] == [0, ErrorCode.REQUEST_TIMED_OUT, 0]
        assert (await harness.ask(WaitRequest())).error_code == 0


async def test_requests_are_late_closed_and_counted(autojump_clock: MockClock) -> None:
    async with harness_with() as harness:
        http = Http(harness)
        await http.add(name="late", delay_ms=[1000, 2000], times=1)
        began = trio.current_time()
        assert await code(harness) == 0
        assert 1 <= trio.current_time() - began <= 2.1
        await http("DELETE")

        await http.add(**{**TIMED_OUT, "after": 1, "every": 3, "times": 2})
        assert [await code(harness) for _ in range(8)] == [0, 7, 0, 0, 7, 0, 0, 0]
        await http("DELETE")

        await http.add(name="end", close=True, client_id="c-*")
        with pytest.raises(ClosedError):
            await code(harness, "c-1")


async def test_who_is_late_when_its_rule_goes_stays_late(autojump_clock: MockClock) -> None:
    async with harness_with() as harness:
        http = Http(harness)
        await http.add(name="late", delay_ms=1000)
        client = harness.client()
        began = trio.current_time()
        client.send(EchoRequest("late"))
        await trio.testing.wait_all_tasks_blocked()

        await http("DELETE")
        assert await code(harness) == 0
        assert trio.current_time() - began < 0.5
        assert (await client.receive(EchoRequest())).text == "late"
        assert trio.current_time() - began >= 1


async def test_a_rule_has_its_time(autojump_clock: MockClock) -> None:
    async with harness_with() as harness:
        await Http(harness).add(**{**TIMED_OUT, "from_ms": 1000, "until_ms": 2000})
        found = []
        for _ in range(3):
            found.append(await code(harness))
            await trio.sleep(1.01)
        assert found == [0, 7, 0]


async def test_the_same_seed_has_the_same_faults(autojump_clock: MockClock) -> None:
    async def run(of_all: str, **more: str) -> list[int]:
        async with harness_with(seed=of_all) as harness:
            await Http(harness).add(**{**TIMED_OUT, "chance": 0.5, **more})
            return [await code(harness) for _ in range(40)]

    assert await run("a") == await run("a")
    assert await run("a") != await run("b")
    assert await run("a", seed="s") == await run("b", seed="s")


async def test_a_whole_broker_is_late_by_topic_and_throttles(autojump_clock: MockClock) -> None:
    settings = {"plugin.faults.enabled": "true", "plugin.faults.path": "/bad/luck"}
    async with PluginHarness(faults, settings=settings, broker=True) as harness:
        http = Http(harness, path="/bad/luck", extensions=AUTHORIZED)
        await http.add(name="o", api="CreateTopics", topic="o-*", error="POLICY_VIOLATION")
        await http.add(name="slow", api="CreateTopics", throttle_ms=700)
        assert (await http("GET", "/o")).json()["topic"] == "o-*"

        refused = await harness.ask(CreateTopicsRequest([CreatableTopic("o-1", 1, 1)]))
        made = await harness.ask(CreateTopicsRequest([CreatableTopic("x", 1, 1)]))

        assert refused.topics[0].error_code == ErrorCode.POLICY_VIOLATION
        assert (made.topics[0].error_code, made.throttle_time_ms) == (0, 700)
        assert (await harness.ask(ApiVersionsRequest(), 0)).error_code == 0
