import pytest

from tests.testing.kafka.kit import await_assignment, consumer
from trio_kafka.introspect.log import get_logger
from trio_kafka.testing.kafka import report
from trio_kafka.testing.kafka.report import describe, describe_threaded
from trio_kafka.testing.kafka.threaded import running_broker


@pytest.fixture
def kafka():
    with running_broker(topics=["orders"]) as kafka:
        yield kafka


def test_topics_groups_requests_and_warnings_are_described(kafka):
    client = consumer(kafka, **{"client.id": "billing"})
    try:
        kafka.produce("orders", "a", "b")
        client.consume(2, timeout=10)
        client.commit(asynchronous=False)
        kafka.produce("orders", "c")
        kafka.wait_for_records("orders", 3)
        warn(kafka, "disk nearly full", free_mib=3)

        sections = dict(describe_threaded(kafka))
    finally:
        client.close()

    assert set(sections) - {"requests in flight"} == {
        "topics",
        "groups",
        "latest requests",
        "warnings",
    }
    assert sections["topics"] == "orders  0: 0 to 3"
    assert sections["groups"] == "g  Stable, members: billing; lag 1 (orders-0: 1)"
    assert "OffsetCommit v" in sections["latest requests"]
    assert "billing" in sections["latest requests"]
    assert sections["warnings"] == "WARNING disk nearly full free_mib=3"


def warn(kafka, event, **fields):
    kafka.look(lambda _: get_logger("trio_kafka.testing").warning(event, **fields))


def test_open_transactions_are_described_with_state_age_and_partitions(kafka):
    for name in ("a", "b", "c", "d"):
        kafka.produce("orders", "tea", transactional_id=name)
    kafka.commit("a")
    kafka.wait_for_transaction("a", "CompleteCommit")

    text = dict(describe_threaded(kafka))["transactions"]

    assert [line.split()[0] for line in text.splitlines()] == ["b", "c", "d"]
    assert "Ongoing for 0." in text
    assert "s of 60 s: orders-0" in text


def test_requests_of_the_test_kit_do_not_replace_those_of_a_client(kafka):
    client = consumer(kafka, **{"client.id": "billing"})
    await_assignment(client)
    client.close()
    for _ in range(50):
        kafka.records("orders")
        kafka.groups()

    text = dict(describe_threaded(kafka))["latest requests"]

    assert "billing" in text
    assert "trio-kafka-testing" not in text
    assert "narrow the output" not in text


def test_the_requests_of_a_client_are_described_after_a_restart(kafka):
    kafka.restart()
    client = consumer(kafka, **{"client.id": "billing"})
    await_assignment(client)
    client.close()

    assert "billing" in dict(describe_threaded(kafka))["latest requests"]


def test_report_of_a_busy_broker_has_at_most_sixty_lines(kafka):
    for number in range(20):
        kafka.create_topic(f"topic-{number:02}", partitions=30)
        warn(kafka, "log not cleaned", number=number)
    clients = [consumer(kafka, f"group-{number:02}") for number in range(12)]
    try:
        for client in clients:
            client.poll(0)  # each joins its group in a thread of its own
        for client in clients:
            await_assignment(client)
        sections = describe_threaded(kafka)
    finally:
        for client in clients:
            client.close()

    lines = [line for _, text in sections for line in text.splitlines()]
    assert len(lines) + len(sections) + 2 <= 60
    assert max(map(len, lines)) <= 200
    assert "and 9 more" in dict(sections)["topics"]
    assert "log not cleaned number=19" in dict(sections)["warnings"]


def test_queues_and_tasks_are_described_on_request_without_idle_parts(kafka):
    kafka.produce("orders", "a")

    sections = dict(describe_threaded(kafka, tree=True))

    assert "plane data/request-channel/requests" in sections["queues"]
    assert "quorum-controller" in sections["tasks"]
    assert "waiting=0" not in sections["tasks"]
    assert "JoinGroup" not in sections["tasks"]


def test_report_can_be_made_in_the_loop_of_the_broker(kafka):
    sections = kafka.thread.call(describe, kafka.in_loop)

    assert sections == [("topics", "orders  0: 0 to 0")]


def test_report_of_a_paused_blocked_or_stopped_broker_gives_the_reason(kafka, monkeypatch):
    kafka.pause()
    assert describe_threaded(kafka) == [
        ("state", "the broker is paused: kafka.resume() was not called")
    ]
    kafka.resume()

    monkeypatch.setattr(report, "_TIMEOUT_S", 0.2)
    blocked = kafka.thread.hold()
    ((_, text),) = describe_threaded(kafka)
    assert text.startswith("its loop does not answer within 0.2 s; it is in\n")
    assert "resume.wait()" in text
    blocked.set()

    kafka.stop()
    assert describe_threaded(kafka) == [("state", "the broker is not running: call start() first")]
    kafka.start()
