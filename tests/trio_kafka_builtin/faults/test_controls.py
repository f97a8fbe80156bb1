"""Fault rules, recorded requests and limits of versions over HTTP."""

import json
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.trio_kafka_builtin.faults.kit import MOVED, Http, code, harness_with
from trio_kafka.errors import ErrorCode
from trio_kafka.testing.direct import ClosedError
from trio_kafka.testing.sample_apis import EchoRequest, WaitRequest

COUNTS = {"seen": 0, "hits": 0, "held": 0}
ERROR = ErrorCode.NOT_LEADER_OR_FOLLOWER


# --- faults


async def test_rules_are_created_listed_and_deleted_over_http(autojump_clock: MockClock) -> None:
    async with harness_with() as harness:
        http = Http(harness)
        answer = await http("POST", body=MOVED)
        assert (answer.status, answer.json()) == (201, {**MOVED, **COUNTS})
        assert await code(harness) == ERROR
        [figures] = [n.figures() for _, n in harness.node.walk() if n.name == "t"]
        assert (figures["seen"], figures["hits"]) == (1, 1)
        assert json.loads(str(figures["rule"])) == MOVED
        shown = {**MOVED, "seen": 1, "hits": 1, "held": 0}
        assert (await http("GET")).json() == {"rules": [shown]}
        assert (await http("GET", "/faults/t")).json() == shown

        again = await http("POST", body=MOVED)
        assert (again.status, "'t' is taken" in again.json()["message"]) == (400, True)
        assert (await http("DELETE", "/faults/t")).status == 204
        assert (await http("DELETE", "/faults/t")).status == 404
        assert await code(harness) == 0
        assert "t" not in [n.name for _, n in harness.node.walk()]

        for name in "ab":
            await http.add(**{**MOVED, "name": name})
        cleared = await http("DELETE")
        assert (cleared.status, cleared.body) == (204, b"")
        assert (await http("GET")).json() == {"rules": []}
        assert await code(harness) == 0
        assert len(harness.interceptors) == 0


async def test_a_rule_without_a_name_gets_a_generated_name(autojump_clock: MockClock) -> None:
    async with harness_with() as harness:
        answer = await Http(harness)("POST", body={"error": 6})

        assert answer.json() == {"error": ERROR.name, "name": "fault-1", **COUNTS}


async def test_a_list_of_rules_is_added_completely_or_not_at_all(autojump_clock: MockClock) -> None:
    async with harness_with() as harness:
        http = Http(harness)
        wrong = {"rules": [MOVED, {"api": "Echo"}]}
        assert (await http("POST", body=wrong)).status == 400
        assert (await http("GET")).json() == {"rules": []}

        answer = await http("POST", body={"rules": [MOVED, {"drop": True, "name": "d"}]})

        assert (answer.status, [rule["name"] for rule in answer.json()["rules"]]) == (
            201,
            ["t", "d"],
        )


async def test_an_invalid_rule_is_refused_and_not_added(autojump_clock: MockClock) -> None:
    async with harness_with(most="1", max_body_bytes="2000") as harness:
        http = Http(harness)

        async def refused(**rule: Any) -> str:
            answer = await http("POST", body={**MOVED, **rule})
            assert answer.status == 400
            return str(answer.json()["message"])

        assert await refused(probability=2) == "probability: 2.0, want 0 to 1"
        assert await refused(tpoic="x") == "unknown field 'tpoic'; did you mean 'topic'?"
        assert await refused(chance=1) == "chance: write probability"
        assert "did you mean 'Echo'" in await refused(api="Ecko")
        assert (await http("POST", body=[1])).status == 400
        assert (await http("POST", body={"rules": 1})).json()["message"].startswith("rules: want")
        assert (await http("POST", body=b"[")).status == 400
        assert (await http("POST", body=b" " * 2001)).status == 413
        assert await code(harness) == 0

        await http.add(**MOVED)
        assert "1 rules, the most" in await refused(name="b")


async def test_wait_returns_after_the_hits_and_release_answers_held_requests(
    autojump_clock: MockClock,
) -> None:
    async with harness_with() as harness, trio.open_nursery() as nursery:
        http, result = Http(harness), list[Any]()
        await http.add(name="h", hold=True)

        async def wait() -> None:
            result.append(await http("POST", "/faults/h/wait", {"hits": 1}))

        nursery.start_soon(wait)
        await wait_all_tasks_blocked()
        assert result == []
        client = harness.client("c")
        client.send(EchoRequest("a"))
        await wait_all_tasks_blocked()
        [answer] = result
        assert (answer.status, answer.json()["hits"], answer.json()["held"]) == (200, 1, 1)

        released = await http("POST", "/faults/h/release")
        assert released.status == 200
        assert (await client.receive(EchoRequest())).text == "a"


async def test_a_wait_that_times_out_reports_the_number_of_hits(autojump_clock: MockClock) -> None:
    async with harness_with() as harness:
        http = Http(harness)
        await http.add(**MOVED)
        await code(harness)

        late = await http("POST", "/faults/t/wait", {"hits": 2, "timeout_s": 5})

        assert (late.status, late.json()["message"]) == (
            408,
            "rule t had 1 of 2 hits after 5 s",
        )
        for body in ({"hist": 2}, {"hits": 0}, {"hits": True}, {"timeout_s": "1"}, []):
            assert (await http("POST", "/faults/t/wait", body)).status == 400


async def test_a_wait_for_a_rule_ends_with_status_410_when_the_rule_is_removed(
    autojump_clock: MockClock,
) -> None:
    async with harness_with() as harness, trio.open_nursery() as nursery:
        http, result = Http(harness), list[Any]()
        await http.add(**MOVED)

        async def wait() -> None:
            result.append(await http("POST", "/faults/t/wait", {}))

        nursery.start_soon(wait)
        await wait_all_tasks_blocked()
        await http("DELETE", "/faults/t")
        await wait_all_tasks_blocked()

        assert [answer.status for answer in result] == [410]


async def test_rules_apply_only_to_requests_that_match_their_conditions_and_counts(
    autojump_clock: MockClock,
) -> None:
    async with harness_with() as harness:
        http = Http(harness)
        await http.add(name="echo", api="Echo", client_id="other", disconnect="before")
        await http.add(name="all", error=ERROR.name, after=1, times=1)

        assert [await code(harness) for _ in range(3)] == [0, ERROR, 0]
        assert (await harness.ask(WaitRequest())).error_code == 0


async def test_a_delayed_request_stays_delayed_when_its_rule_is_removed(
    autojump_clock: MockClock,
) -> None:
    async with harness_with() as harness:
        http = Http(harness)
        await http.add(name="late", delay_s=1)
        client = harness.client()
        began = trio.current_time()
        client.send(EchoRequest("late"))
        await wait_all_tasks_blocked()

        await http("DELETE")
        assert await code(harness) == 0
        assert trio.current_time() - began < 0.5
        assert (await client.receive(EchoRequest())).text == "late"
        assert trio.current_time() - began >= 1


async def test_the_same_seed_gives_the_same_sequence_of_faults(autojump_clock: MockClock) -> None:
    async def run(of_all: str, **more: str) -> list[int]:
        async with harness_with(seed=of_all) as harness:
            await Http(harness).add(**{**MOVED, "probability": 0.5, **more})
            return [await code(harness) for _ in range(40)]

    assert await run("a") == await run("a")
    assert await run("a") != await run("b")
    assert await run("a", seed="s") == await run("b", seed="s")


# --- requests


async def test_requests_are_recorded_between_start_and_stop(autojump_clock: MockClock) -> None:
    async with harness_with() as harness:
        http = Http(harness)
        await code(harness)
        assert (await http("POST", "/requests/start")).json() == {
            "recording": True,
            "recorded": 0,
            "dropped": 0,
        }
        await code(harness, "app-1")
        await harness.ask(WaitRequest())
        await http("POST", "/requests/stop")
        await code(harness)

        everything = (await http("GET", "/requests")).json()
        assert (everything["recording"], everything["count"]) == (False, 2)
        selection = (await http("GET", "/requests?client_id=app-*&message=true")).json()
        (shown,) = selection["requests"]
        assert (shown["api"], shown["client_id"], shown["message"]["text"]) == (
            "Echo",
            "app-1",
            "",
        )
        assert (await http("GET", "/requests?api=Wait&limit=0")).json()["requests"] == []
        frames = (await http("GET", "/requests/frames?api=Wait")).json()["frames"]
        assert [line["api"] for line in frames] == ["Wait"]
        assert (await http("DELETE", "/requests")).status == 204
        assert (await http("GET", "/requests")).json()["count"] == 0
        assert len(harness.interceptors) == 0


async def test_a_wait_for_recorded_requests_returns_at_the_count_or_the_timeout(
    autojump_clock: MockClock,
) -> None:
    async with harness_with() as harness, trio.open_nursery() as nursery:
        http, result = Http(harness), list[Any]()
        await http("POST", "/requests/start")

        async def wait() -> None:
            result.append(await http("POST", "/requests/wait?api=Echo", {"count": 2}))

        nursery.start_soon(wait)
        await code(harness)
        await wait_all_tasks_blocked()
        assert result == []
        await code(harness)
        await wait_all_tasks_blocked()
        assert [(answer.status, answer.json()["count"]) for answer in result] == [(200, 2)]

        late = await http("POST", "/requests/wait?api=Wait", {"timeout_s": 1})
        assert (late.status, late.json()["message"]) == (408, "0 of 1 requests after 1 s")


async def test_unknown_conditions_of_requests_are_refused(autojump_clock: MockClock) -> None:
    async with harness_with() as harness:
        http = Http(harness)
        for below in ("/requests?tpoic=x", "/requests?api=No", "/requests?limit=x"):
            assert (await http("GET", below)).status == 400
        assert (await http("POST", "/requests/wait?api=No", {})).status == 400


# --- versions


async def test_an_api_version_limit_can_be_set_switched_off_and_removed(
    autojump_clock: MockClock,
) -> None:
    async with harness_with() as harness:
        http = Http(harness)

        async def post(body: Any, api: str = "Echo") -> Any:
            return await http("POST", f"/versions/{api}", body)

        capped = await post({"last": 0})
        assert capped.json() == {
            "versions": {"Echo": {"first": 0, "last": 0}, "Wait": {"first": 0, "last": 0}},
            "limits": {"Echo": [0, 0]},
        }
        with pytest.raises(ClosedError):
            await harness.ask(EchoRequest(), 1, client_id="new")
        await post({"off": True})
        shown = (await http("GET", "/versions")).json()
        assert shown["versions"]["Echo"] == {"first": None, "last": None}
        assert (await http("DELETE", "/versions/Echo")).status == 204
        assert (await harness.ask(EchoRequest("a"), 1, client_id="new")).text == "a"
        await post({"off": True}, "Wait")
        assert (await http("DELETE", "/versions")).status == 204
        assert (await http("GET", "/versions")).json()["limits"] == {}


@pytest.mark.parametrize(
    ("api", "body", "why"),
    [
        ("Ecko", {"off": True}, "did you mean 'Echo'"),
        ("Echo", {"last": -1}, "no version of Echo is left"),
        ("Echo", {"last": True}, 'want {"last": VERSION} or {"off": true}'),
        ("Echo", {"lats": 1}, 'want {"last": VERSION} or {"off": true}'),
        ("Echo", {"last": 1, "off": True}, "want"),
        ("Echo", [], "want"),
    ],
)
async def test_an_invalid_version_limit_is_refused(
    autojump_clock: MockClock, api: str, body: Any, why: str
) -> None:
    async with harness_with() as harness:
        answer = await Http(harness)("POST", f"/versions/{api}", body)

        assert answer.status == 400
        assert why in answer.json()["message"]
