import pytest
from trio.testing import MockClock

from trio_kafka.errors import ErrorCode
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k10004_run_job import RunJobRequest
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.scripted_client import connected
from trio_kafka.testing.simulation import simulated_world

RETENTION = "kafka-log-retention"


def runs(served: object) -> dict[str, int]:
    statuses = served.broker.parts.scheduler.statuses  # type: ignore[attr-defined]
    return {status.name: status.runs for status in statuses}


async def test_a_job_is_run_at_once_on_request(autojump_clock: MockClock) -> None:
    async with served_broker(simulated_world()) as served:
        before = runs(served)[RETENTION]
        answer = await served.ask(RunJobRequest(RETENTION))
        after = runs(served)[RETENTION]

    assert (answer.error_code, answer.job_error) == (0, None)
    assert answer.took_s >= 0
    assert after == before + 1


async def test_an_exception_raised_by_a_job_is_returned(autojump_clock: MockClock) -> None:
    def fail() -> None:
        raise ValueError("no such thing")

    async with served_broker(simulated_world()) as served:
        served.broker.parts.scheduler.every("bad", 100.0, fail)
        answer = await served.ask(RunJobRequest("bad"))

    assert (answer.error_code, answer.job_error) == (0, "ValueError: no such thing")


async def test_an_unknown_job_is_refused_with_a_list_of_known_jobs(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        answer = await served.ask(RunJobRequest("retention"))

    assert answer.error_code == ErrorCode.RESOURCE_NOT_FOUND
    assert "no job 'retention': there are " in answer.error_message
    assert RETENTION in answer.error_message


@pytest.mark.parametrize("job", [RETENTION, "unknown"])
async def test_running_a_job_is_refused_from_another_machine(
    job: str, autojump_clock: MockClock
) -> None:
    host = simulated_world("host")
    other = host.universe.machine("other")
    settings = {
        "listeners": "PLAINTEXT://0.0.0.0:0",
        "advertised.listeners": "PLAINTEXT://host:9092",
    }
    async with served_broker(host, settings) as served:
        before = runs(served)
        port = served.broker.endpoints["PLAINTEXT"].port
        async with connected(other, Endpoint(host.name, port)) as client:
            answer = await client.ask(RunJobRequest(job), 0)
        after = runs(served)

    assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert after == before
