"""The app: its controls by path, the token, and mistakes."""

from typing import Any

import pytest
from trio.testing import MockClock

from tests.trio_kafka_builtin.faults.kit import MOVED, Http, code, harness_with
from tests.trio_kafka_builtin.odd_values import odd_bodies
from trio_kafka.testing.harness import PluginHarness
from trio_kafka_builtin.faults.plugin import faults

CONTROLS = ["clock", "faults", "groups", "jobs", "requests", "versions"]


async def test_the_root_lists_the_controls(autojump_clock: MockClock) -> None:
    async with harness_with() as harness:
        http = Http(harness)

        assert (await http("GET", "")).json() == {"controls": CONTROLS}
        unknown = await http("GET", "/clok")
        assert (unknown.status, unknown.json()["message"]) == (
            404,
            f"no control 'clok': there are {', '.join(CONTROLS)}",
        )


@pytest.mark.parametrize("extensions", [{}, {"trio_kafka": {"authorized": False}}])
async def test_a_plane_without_a_token_serves_no_controls(
    autojump_clock: MockClock, extensions: dict[str, Any]
) -> None:
    async with harness_with() as harness:
        for method in ("GET", "POST", "DELETE"):
            answer = await Http(harness, extensions=extensions)(method, body=MOVED)
            assert answer.status == 403
            assert "set plugin.http.token" in answer.json()["message"]
        assert await code(harness) == 0


async def test_a_broker_for_tests_needs_no_token(autojump_clock: MockClock) -> None:
    async with harness_with(token_required="false") as harness:
        answer = await Http(harness, extensions={})("POST", body=MOVED)

        assert answer.status == 201
        assert await code(harness) != 0


async def test_the_controls_are_mounted_at_the_configured_path(autojump_clock: MockClock) -> None:
    settings = {"plugin.faults.enabled": "true", "plugin.faults.path": "/bad/luck"}
    async with PluginHarness(faults, settings=settings, broker=True) as harness:
        http = Http(harness, path="/bad/luck")
        await http.add(name="o", topic="o-*", error="POLICY_VIOLATION")

        assert (await http("GET", "/faults/o")).json()["topic"] == "o-*"


@pytest.mark.parametrize(
    ("method", "below", "status"),
    [
        ("PUT", "/faults", 405),
        ("POST", "/faults/t", 404),
        ("GET", "/faults/x", 404),
        ("DELETE", "/faults/a/b", 404),
        ("PUT", "/requests", 405),
        ("POST", "/requests/other", 405),
        ("PUT", "/versions/Echo", 405),
    ],
)
async def test_unsupported_methods_and_paths_are_refused(
    autojump_clock: MockClock, method: str, below: str, status: int
) -> None:
    async with harness_with() as harness:
        answer = await Http(harness)(method, below)

        assert (answer.status, answer.json()["error_code"]) == (status, status)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("below", "valid"),
    [
        (
            "/faults",
            {
                "rules": [
                    {
                        "api": ["Echo"],
                        "version": [0, 1],
                        "partition": 0,
                        "window_s": [0, 1],
                        "delay_s": [0, 1],
                        "every": 1,
                        "probability": 0.5,
                        "topic": "t",
                        "throttle_s": 1,
                    }
                ]
            },
        ),
        ("/faults", {"api": "Echo", "error": "POLICY_VIOLATION"}),
        ("/faults", {"api": "Echo", "respond": {"text": "a"}}),
        ("/requests/wait", {"count": 1, "timeout_s": 0}),
        ("/versions/Echo", {"last": 0}),
        ("/versions/Echo", {"off": True}),
        ("/clock", {"seconds": 0, "hold": True}),
    ],
)
async def test_a_value_of_a_wrong_type_in_any_field_causes_no_server_error(
    below: str, valid: Any, autojump_clock: MockClock
) -> None:
    async with harness_with() as harness:
        http = Http(harness)
        for body in odd_bodies(valid):
            answer = await http("POST", below, body)
            assert answer.status < 500, (body, answer.body)
            answer.json()
            await http("DELETE", "/faults")


@pytest.mark.parametrize(
    "body", [b"NaN", b'{"name": "a", "name": "b"}', rb'{"topic": "\ud800"}', b"1e999", b"[" * 9000]
)
async def test_a_body_with_ambiguous_json_is_refused(
    body: bytes, autojump_clock: MockClock
) -> None:
    async with harness_with() as harness:
        answer = await Http(harness)("POST", "/faults", body)

    assert (answer.status, "not JSON" in answer.json()["message"]) == (400, True)
