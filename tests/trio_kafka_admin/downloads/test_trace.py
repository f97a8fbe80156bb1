"""A trace of the next seconds, as a download."""

import json

import pytest
import trio
from trio.testing import MockClock

from tests.apis.authorizers import deny_all
from tests.trio_kafka_admin.kit import Ui, admin_ui
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest


async def keep_asking(ui: Ui, *, every_s: float = 0.1) -> None:
    async with ui.served.connect() as client:
        while True:
            await client.ask(MetadataRequest(topics=None), 12)
            await trio.sleep(every_s)


async def test_a_trace_holds_the_requests_and_tasks_of_its_seconds(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui, trio.open_nursery() as nursery:
        nursery.start_soon(keep_asking, ui)
        began = trio.current_time()
        answer = await ui.ask("/admin/download/trace?seconds=3")
        took_s = trio.current_time() - began
        nursery.cancel_scope.cancel()

    trace = json.loads(answer.body)
    events = trace["traceEvents"]
    requests = [event for event in events if event["ph"] == "b" and event["name"] == "Metadata v12"]
    steps = [event for event in events if event["ph"] == "X"]
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["content-disposition"] == 'attachment; filename="trio-kafka-trace.json"'
    assert took_s == pytest.approx(3, abs=0.1)
    assert 25 <= len(requests) <= 31
    assert len(steps) > len(requests)


async def test_one_recording_runs_at_a_time(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui, trio.open_nursery() as nursery:
        nursery.start_soon(ui.ask, "/admin/download/trace?seconds=5")
        await trio.sleep(1)
        refusal = await ui.ask("/admin/download/trace?seconds=4")
        await trio.sleep(5)
        later = await ui.ask("/admin/download/trace?seconds=4")

    assert refusal.status == 503
    assert b"another recording is under way" in refusal.body
    assert refusal.headers["retry-after"] == "1"
    assert later.status == 200


async def test_viewers_of_the_same_seconds_share_a_recording(autojump_clock: MockClock) -> None:
    answers = []

    async def ask(ui: Ui) -> None:
        answers.append(await ui.ask("/admin/download/trace?seconds=2"))

    async with admin_ui() as ui, trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(ask, ui)

    assert [answer.status for answer in answers] == [200, 200, 200]
    assert len({answer.body for answer in answers}) == 1


async def test_a_viewer_that_leaves_ends_the_recording(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        with trio.move_on_after(1):
            await ui.ask("/admin/download/trace?seconds=5")
        planes = ui.served.broker.parts.planes
        logs = [plane.request_metrics.log for plane in planes]
        again = await ui.ask("/admin/download/trace?seconds=1")

    assert logs == [None] * len(planes)
    assert again.status == 200


async def test_head_request_for_a_trace_records_nothing(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        began = trio.current_time()
        answer = await ui.ask("/admin/download/trace?seconds=5", "HEAD")
        took_s = trio.current_time() - began

    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["content-type"] == "application/json"
    assert took_s < 1


async def test_seconds_out_of_bounds_are_refused(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        for seconds in ("0", "21", "x", "-1"):
            assert (await ui.ask(f"/admin/download/trace?seconds={seconds}")).status == 400


async def test_a_principal_without_describe_on_the_cluster_gets_no_trace(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        ui.served.broker.parts.authorizer = deny_all()
        answer = await ui.ask("/admin/download/trace?seconds=1")

    assert answer.status == 403
