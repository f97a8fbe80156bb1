"""The app that takes progress, and what it refuses."""

import json
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.trio_kafka_builtin.pipelines.kit import Pipelines, progress, running_pipelines
from trio_kafka.testing.asgi import ask
from trio_kafka.world.simulated.child import SimulatedProcess
from trio_kafka_admin.tree_snapshots import FRESH_S
from trio_kafka_builtin.pipelines.app import MOST_AT_ONCE, ProgressApp

FILES = {"a.toml": 'command = ["run"]', "b.toml": 'command = ["run"]'}


class Children(dict[str, SimulatedProcess]):
    """The processes that run, by the name of their pipeline."""

    async def run(self, process: SimulatedProcess) -> int:
        self[process.environment["TRIO_KAFKA_PIPELINE"]] = process
        await trio.sleep_forever()
        return 0


async def ready(pipelines: Pipelines) -> None:
    for name in "ab":
        await pipelines.until(name, "running")


async def test_progress_posted_by_a_pipeline_is_shown_on_the_page_and_in_metrics(
    autojump_clock: MockClock,
) -> None:
    children = Children()
    async with running_pipelines({"run": children.run}, FILES) as pipelines:
        await ready(pipelines)
        answer = await pipelines.post(children["a"], progress())
        assert (answer.status, answer.body) == (204, b"")
        await trio.sleep(FRESH_S)
        [query] = (await pipelines.row("a"))["queries"]
        assert (query["name"], query["rows"], query["lag"]) == ("counts", 50, 101)
        assert (await pipelines.row("b"))["queries"] == []
        figures = pipelines.node("pipeline a").figures()
        assert (figures["queries"], figures["rows"], figures["lag"]) == (1, 50, 101)
        assert pipelines.served.broker.counters.total("pipeline_rows") == 50


async def test_progress_without_the_token_of_its_pipeline_is_unauthorized(
    autojump_clock: MockClock,
) -> None:
    children = Children()
    async with running_pipelines({"run": children.run}, FILES) as pipelines:
        await ready(pipelines)
        token = children["a"].environment["TRIO_KAFKA_PIPELINE_TOKEN"]
        right = f"Bearer {token}"
        for name, headers in [
            ("a", {}),
            ("a", {"authorization": "Bearer "}),
            ("a", {"authorization": "Bearer wrong"}),
            ("a", {"authorization": f"Bearer {token}x"}),
            ("a", {"authorization": f"Bearer {token[:-1]}"}),
            ("a", {"authorization": f"Basic {token}"}),
            ("a", {"authorization": "Bearer \xff\xfe"}),
            ("b", {"authorization": right}),
            ("none", {"authorization": right}),
            ("..", {"authorization": right}),
        ]:
            answer = await pipelines.ask(
                "POST", f"/pipelines/{name}/progress", progress(), **headers
            )
            assert (answer.status, answer.json()["error_code"]) == (401, 401), (name, headers)
            assert answer.headers["www-authenticate"] == 'Bearer realm="pipelines"'
        assert pipelines.served.broker.counters.total("pipeline_posts_unauthorized") == 10
        assert (await pipelines.page())["pipelines"][0]["queries"] == []
        lower = {"authorization": f"bearer {token}"}
        assert (
            await pipelines.ask("POST", "/pipelines/a/progress", progress(), **lower)
        ).status == 204


async def test_a_restarted_pipeline_has_a_new_token_and_no_queries(
    autojump_clock: MockClock,
) -> None:
    children = Children()
    async with running_pipelines({"run": children.run}, FILES) as pipelines:
        await ready(pipelines)
        first = children["a"]
        assert (await pipelines.post(first, progress())).status == 204
        first.die(1)
        await pipelines.until("a", "paused")
        assert (await pipelines.post(first, progress())).status == 401
        assert len((await pipelines.row("a"))["queries"]) == 1
        await pipelines.until("a", "running")
        assert (await pipelines.post(first, progress())).status == 401
        assert (await pipelines.row("a"))["queries"] == []
        assert (await pipelines.post(children["a"], progress())).status == 204


@pytest.mark.parametrize(
    ("method", "below", "body", "status"),
    [
        ("GET", "/a/progress", b"", 405),
        ("DELETE", "/a/progress", b"", 405),
        ("POST", "", b"{}", 404),
        ("POST", "/a", b"{}", 404),
        ("POST", "/a/progress/x", b"{}", 404),
        ("POST", "/a/other", b"{}", 404),
        ("POST", "/a/progress", b"", 400),
        ("POST", "/a/progress", b"{", 400),
        ("POST", "/a/progress", b"[" * 100_000, 400),
        ("POST", "/a/progress", b"\xff", 400),
        ("POST", "/a/progress", b"{}", 400),
        ("POST", "/a/progress", b" " * 131_073, 413),
    ],
)
async def test_invalid_progress_requests_are_refused(
    autojump_clock: MockClock, method: str, below: str, body: bytes, status: int
) -> None:
    children = Children()
    async with running_pipelines({"run": children.run}, FILES) as pipelines:
        await ready(pipelines)
        token = children["a"].environment["TRIO_KAFKA_PIPELINE_TOKEN"]
        target = f"/pipelines{below}"
        answer = await pipelines.ask(method, target, body, authorization=f"Bearer {token}")
        assert (answer.status, answer.json()["error_code"]) == (status, status)
        assert (await pipelines.row("a"))["queries"] == []
        assert pipelines.hosted.current.failures == 0


async def test_the_number_of_requests_waiting_for_a_body_is_bounded(
    autojump_clock: MockClock,
) -> None:
    children = Children()
    async with (
        running_pipelines({"run": children.run}, FILES) as pipelines,
        trio.open_nursery() as nursery,
    ):
        await ready(pipelines)
        token = children["a"].environment["TRIO_KAFKA_PIPELINE_TOKEN"]
        mount = pipelines.served.broker.plugins.dependencies.mounts.find("/pipelines")
        assert mount is not None
        headers = [(b"authorization", f"Bearer {token}".encode())]
        scope = {"path": "/pipelines/a/progress", "method": "POST", "headers": headers}

        async def never() -> Any:
            await trio.sleep_forever()

        async def drop(message: Any) -> None:
            await trio.lowlevel.checkpoint()

        for _ in range(MOST_AT_ONCE):
            nursery.start_soon(mount.app, dict(scope), never, drop)
        await trio.sleep(0.1)
        assert (await pipelines.post(children["a"], progress())).status == 503
        nursery.cancel_scope.cancel()


async def test_the_pipelines_page_does_not_show_tokens(
    autojump_clock: MockClock,
) -> None:
    children = Children()
    async with running_pipelines({"run": children.run}, FILES) as pipelines:
        await ready(pipelines)
        answer = await ask(
            pipelines.served.broker.plugins.dependencies.mounts.find("/admin").app,
            "GET",
            "/admin/api/pipelines",
        )
        text = json.dumps(answer.json()) + repr(pipelines.hosted) + str(pipelines.hosted.figures())
        for process in children.values():
            assert process.environment["TRIO_KAFKA_PIPELINE_TOKEN"] not in text
    assert ProgressApp.__doc__
