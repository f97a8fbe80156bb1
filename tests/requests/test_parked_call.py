"""Calls that parked requests await: each says what it waits for."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import fetch_request
from tests.introspect.waiting import chain, waiting
from tests.requests.test_handler_waits import metadata
from trio_kafka.controls.faults import FaultRule, Faults
from trio_kafka.plugin import Context, PluginContext, plugin
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.protocol.messages.k10004_run_job import RunJobRequest


@plugin("one", limit=1)
@asynccontextmanager
async def one_at_a_time(context: PluginContext[Any]) -> AsyncIterator[None]:
    async def hold(request: object, context: Context, forward: Any) -> object:
        await context.parked(trio.sleep, 60)
        return await forward(request)

    context.around(MetadataRequest, hold)
    yield


@plugin("asks")
@asynccontextmanager
async def asks_itself(context: PluginContext[Any]) -> AsyncIterator[None]:
    broker = context

    async def ask(request: object, context: Context, forward: Any) -> object:
        await broker.ask(fetch_request("t", 0, max_wait_ms=30_000), version=12)
        return await forward(request)

    context.around(MetadataRequest, ask)
    yield


async def test_request_at_the_limit_of_a_plugin_waits_for_another_call(
    autojump_clock: MockClock,
) -> None:
    async with waiting(plugins=(one_at_a_time,)) as waits:
        await metadata(waits, 2)
        running, queued = sorted([facts.why for facts in await waits.facts("Metadata")], key=len)

    assert chain(running) == [("plugin", "plugin", "one")]
    assert running[0].age_s == pytest.approx(2, 0.1)
    assert chain(queued) == [
        ("token", "limiter", "limit of plugin one"),
        ("plugin", "plugin", "one"),
    ]
    assert (queued[0].has, queued[0].needs) == (0, 1)


async def test_request_whose_plugin_asks_the_broker_waits_for_that_answer(
    autojump_clock: MockClock,
) -> None:
    async with waiting(plugins=(asks_itself,)) as waits:
        await waits.served.create_topic("t")
        await metadata(waits)
        outer = await waits.why("Metadata")
        (inner,) = await waits.facts("Fetch")

    assert chain(outer) == [("plugin", "request", "from within the broker")]
    assert (inner.connection, inner.client_id) == (None, "asks")
    assert chain(inner.why) == [("bytes", "partition", "t-0")]


@pytest.mark.parametrize("hold", [True, False])
async def test_request_that_a_fault_rule_delays_or_holds_names_the_rule(
    autojump_clock: MockClock, *, hold: bool
) -> None:
    async with waiting() as waits:
        faults = Faults(waits.served.broker)
        faults.add(FaultRule(name="late", api="Metadata", delay_s=0 if hold else 60, hold=hold))
        await metadata(waits)
        (wait,) = await waits.why("Metadata")

    assert chain((wait,)) == [("fault", "fault rule", "late")]
    if not hold:
        assert wait.words == "fault rule late, which delays it by 60 s"
        assert (wait.left_s, wait.has) == (pytest.approx(59, 0.1), pytest.approx(1, 0.1))
        assert (wait.needs, wait.unit) == (60, "s")


async def test_request_that_runs_a_job_waits_for_the_job(autojump_clock: MockClock) -> None:
    async def job() -> None:
        await trio.sleep(60)

    async with waiting() as waits:
        waits.served.broker.parts.scheduler.every("long", 1000, job)
        await waits.ask(RunJobRequest("long"))
        (wait,) = await waits.why("RunJob")

    assert chain((wait,)) == [("change", "job", "long")]
    assert wait.words == "a run of job long"
