import pytest

from trio_kafka.testing.kafka import report
from trio_kafka.testing.kafka.report import describe, describe_threaded
from trio_kafka.testing.kafka.threaded import running_broker


@pytest.fixture
def kafka():
    with running_broker(topics=["orders"]) as kafka:
        yield kafka


def test_requests_queues_and_tasks_are_described_without_what_is_idle(kafka):
    kafka.produce("orders", "a")

    sections = dict(describe_threaded(kafka))

    assert list(sections) == ["requests in flight", "latest requests", "queues", "tasks"]
    assert sections["requests in flight"] == "none"
    assert "Produce" in sections["latest requests"]
    assert "Describe" not in sections["latest requests"]
    assert "plane data/request-channel/requests" in sections["queues"]
    assert "quorum-controller" in sections["tasks"]
    assert "waiting=0" not in sections["tasks"]
    assert "JoinGroup" not in sections["tasks"]


def test_the_broker_describes_itself_in_its_own_loop(kafka):
    sections = kafka.thread.call(describe, kafka.broker)

    assert "orders-0" in dict(sections)["tasks"]


def test_a_broker_that_cannot_answer_says_why(kafka, monkeypatch):
    kafka.pause()
    assert describe_threaded(kafka) == [
        ("state", "the broker is paused: kafka.resume() was not called")
    ]
    kafka.resume()

    monkeypatch.setattr(report, "_LIMIT_S", 0.2)
    blocked = kafka.thread.hold()
    ((_, text),) = describe_threaded(kafka)
    assert text.startswith("its loop does not answer within 0.2 s; it is in\n")
    assert "resume.wait()" in text
    blocked.set()

    kafka.stop()
    assert describe_threaded(kafka) == [("state", "the broker is not running: call start() first")]
    kafka.start()
