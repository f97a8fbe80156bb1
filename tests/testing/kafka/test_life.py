"""Lives of a broker: stops, kills, power losses, restarts."""

import threading

import pytest

from tests.testing.kafka.kit import consumer, values
from trio_kafka.testing.kafka.life import NotRunningError
from trio_kafka.testing.kafka.threaded import running_broker


def test_records_and_address_are_the_same_after_a_restart_and_a_kill(kafka):
    address = kafka.bootstrap
    kafka.produce("orders", b"a")
    kafka.restart()
    kafka.kill()
    assert not kafka.is_running
    kafka.start()
    assert kafka.bootstrap == address
    assert values(kafka.records("orders")) == [b"a"]


def test_power_loss_removes_unsynced_records():
    with running_broker({"log.flush.interval.messages": "1"}) as kafka:
        kafka.produce("synced", b"a")
        kafka.kill(power=True)
        kafka.start()
        assert values(kafka.records("synced")) == [b"a"]
    with running_broker(topics=["unsynced"]) as kafka:
        kafka.produce("unsynced", b"a" * 2000)
        kafka.kill(power=True)
        kafka.start()
        assert kafka.records("unsynced") == []


def test_connected_client_continues_after_a_kill_and_a_start(kafka):
    client = consumer(kafka)
    try:
        kafka.produce("orders", b"before")
        assert [message.value() for message in client.consume(1, timeout=10)] == [b"before"]
        kafka.kill()
        kafka.start()
        kafka.produce("orders", b"after")
        assert [message.value() for message in client.consume(1, timeout=10)] == [b"after"]
    finally:
        client.close()


def test_calls_to_a_stopped_broker_are_refused(kafka):
    kafka.stop()
    for call in (kafka.topics, kafka.stop, kafka.kill):
        with pytest.raises(NotRunningError, match="call start"):
            call()
    kafka.start()
    with pytest.raises(RuntimeError, match="running already"):
        kafka.start()


def test_error_of_an_ended_broker_does_not_suggest_a_start():
    with running_broker() as kafka:
        pass
    with pytest.raises(NotRunningError, match="has ended, with its block or its test"):
        kafka.bootstrap  # noqa: B018 - a property that raises


def test_a_start_that_fails_raises_and_leaves_no_thread():
    before = set(threading.enumerate())
    with running_broker() as kafka:
        port = int(kafka.bootstrap.rpartition(":")[2])
        with pytest.raises(Exception, match="in use"), running_broker(port=port):
            pass
    assert [
        thread.name for thread in set(threading.enumerate()) - before if "Trio" not in thread.name
    ] == []
