"""The clock and the groups of a broker over HTTP, as suites in other languages use them."""

import pytest
from confluent_kafka import Consumer
from trio.testing import MockClock

from tests.trio_kafka_builtin.faults.kit import Http
from trio_kafka.testing.asgi import Answer
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.kafka.threaded import Kafka, running_broker
from trio_kafka_builtin.faults.plugin import faults


@pytest.fixture
def kafka():
    settings = {"plugin.faults.enabled": "true"}
    with running_broker(settings, topics=["orders"], plugins=[faults]) as kafka:
        yield kafka


def ask(kafka: Kafka, method: str, below: str, body: object = None) -> Answer:
    async def call() -> Answer:
        harness = PluginHarness(faults)
        harness.host = kafka.broker.plugins
        return await Http(harness)(method, below, body)

    return kafka.thread.call(call)


def test_the_clock_can_be_read_and_moved_forward_over_http(kafka):
    before = ask(kafka, "GET", "/clock").json()
    moved = ask(kafka, "POST", "/clock", {"seconds": 7200}).json()

    assert before["moved_s"] == 0
    assert moved["moved_s"] == pytest.approx(7200, abs=5)
    assert moved["timestamp_ms"] - before["timestamp_ms"] >= 7_195_000
    assert moved["deadlines"] >= 1
    assert ask(kafka, "GET", "/clock").json()["time"] > before["time"]


def test_deleting_the_clock_resets_the_clock_to_real_time(kafka):
    before = ask(kafka, "GET", "/clock").json()
    ask(kafka, "POST", "/clock", {"seconds": 7200})

    after = ask(kafka, "DELETE", "/clock").json()

    assert after["moved_s"] == 0
    assert 0 <= after["timestamp_ms"] - before["timestamp_ms"] < 3_600_000


def test_a_clock_move_that_times_out_waiting_for_a_thread_reports_the_reason(kafka):
    clock = kafka.thread.clock
    clock.patience_s = 0.01

    with clock.working():
        answer = ask(kafka, "POST", "/clock", {"seconds": 60})

    assert answer.status == 409
    assert "did not end within 0.01 s: a thread" in answer.body.decode()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"seconds": -1}, "seconds: -1, want 0 to"),
        ({"seconds": "1"}, "seconds: '1', want 0 to"),
        ({"seconds": 1, "hold": 1}, "hold: 1, want true or false"),
        ({"hours": 1}, 'want {"seconds": SECONDS}'),
        ([], 'want {"seconds": SECONDS}'),
    ],
)
def test_an_invalid_clock_move_is_refused_with_a_reason(kafka, body, reason):
    answer = ask(kafka, "POST", "/clock", body)
    assert answer.status == 400
    assert reason in answer.json()["message"]


async def test_moving_a_real_clock_is_refused_with_the_command_to_use(
    autojump_clock: MockClock,
) -> None:
    async with PluginHarness(faults, settings={"enabled": "true"}, broker=True) as harness:
        answer = await Http(harness)("POST", "/clock", {"seconds": 60})
        shown = await Http(harness)("GET", "/clock")

    assert answer.status == 409
    assert "trio-kafka start --testing" in answer.json()["message"]
    assert shown.json()["moved_s"] is None


def test_groups_can_be_listed_described_and_waited_for_over_http(kafka):
    assert ask(kafka, "GET", "/groups").json() == {"groups": []}
    client = Consumer(
        {"bootstrap.servers": kafka.bootstrap, "group.id": "g", "auto.offset.reset": "earliest"}
    )
    client.subscribe(["orders"])
    try:
        kafka.produce("orders", b"a")
        client.consume(1, timeout=10)
        client.commit(asynchronous=False)
        expected = {"state": "Stable", "members": 1, "lag": 0}
        group = ask(kafka, "POST", "/groups/g/wait", expected).json()
        assert group["offsets"] == {"orders-0": 1}
        assert group["lag"] == {"orders-0": 0}
        assert group["members"][0]["partitions"] == [["orders", 0]]
        assert ask(kafka, "GET", "/groups/g").json() == group
        assert ask(kafka, "GET", "/groups").json() == {"groups": [group]}
        late = ask(kafka, "POST", "/groups/g/wait", {"members": 2, "timeout_s": 0.05})
        assert late.status == 408
        assert "group 'g' after 0.05 s" in late.json()["message"]
    finally:
        client.close()
    assert ask(kafka, "GET", "/groups/other").json()["state"] == "Dead"


@pytest.mark.parametrize(
    "body", [{"stat": "Stable"}, {"members": "1"}, {"members": True}, {"timeout_s": -1}, []]
)
def test_a_group_wait_with_invalid_conditions_is_refused(kafka, body):
    assert ask(kafka, "POST", "/groups/g/wait", body).status == 400


def test_unsupported_methods_on_the_clock_and_groups_are_refused(kafka):
    for method, below in (("PUT", "/clock"), ("PUT", "/groups"), ("POST", "/groups/g")):
        assert ask(kafka, method, below).status == 405
