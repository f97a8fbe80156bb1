"""The admin client without Trio, on sockets of the operating system."""

import socket
import subprocess
import sys
import threading
import time

import pytest

from tests.clients.admin.scenarios import (
    topics_are_listed_and_described_by_name_and_id as topics_scenario,
)
from trio_kafka.clients.admin.topic_values import NewTopic
from trio_kafka.clients.blocking import open_admin
from trio_kafka.clients.errors import NotKafkaError, RetriableError, TimedOutError
from trio_kafka.controls.faults import FaultRule
from trio_kafka.errors import ErrorCode
from trio_kafka.testing.kafka.threaded import Kafka
from trio_kafka.testing.ports import LOOPBACK, unused_port

TOPICS = [NewTopic("a"), NewTopic("b")]


def at(*addresses: str, **settings: object) -> dict[str, object]:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return {"bootstrap.servers": list(addresses), **named}


def test_scenario_passes_and_connections_are_used_again(kafka: Kafka) -> None:
    with open_admin(at(kafka.bootstrap)) as admin:
        admin.run(topics_scenario("t"))
        assert len(admin.links.connected) == 1
    assert not admin.links.connected


def test_lost_connection_is_opened_again_and_the_error_says_that_the_call_may_have_succeeded(
    kafka: Kafka,
) -> None:
    lost = FaultRule(api="CreateTopics", disconnect="after", times=1)
    with open_admin(at(kafka.bootstrap)) as admin, kafka.controls.fault(lost):
        errors = admin.create_topics(TOPICS).errors.values()

    assert {error.code for error in errors} == {ErrorCode.TOPIC_ALREADY_EXISTS}
    assert all(error.sent for error in errors)


def test_broker_that_restarts_between_two_calls_is_not_noticed(kafka: Kafka) -> None:
    with open_admin(at(kafka.bootstrap)) as admin:
        admin.create_topics(TOPICS).all()
        kafka.restart()
        assert set(admin.list_topics()) == {"a", "b"}


def test_call_ends_at_its_deadline(kafka: Kafka) -> None:
    hold = FaultRule(api="CreateTopics", hold=True)
    with open_admin(at(kafka.bootstrap)) as admin, kafka.controls.fault(hold) as fault:
        start = time.monotonic()
        errors = admin.within(0.3).create_topics(TOPICS).errors.values()
        elapsed_s = time.monotonic() - start
        fault.release()

    assert 0.3 <= elapsed_s < 5
    assert all(isinstance(error, TimedOutError) and error.sent for error in errors)


def test_refused_connection_is_an_error_at_once_or_at_the_deadline() -> None:
    address = f"{LOOPBACK}:{unused_port()}"
    with open_admin(at(address), waits_for_broker=False) as admin:
        with pytest.raises(RetriableError, match=f"{address}.*refused") as error:
            admin.list_topics()
        assert not error.value.sent
    late = pytest.raises(TimedOutError, match=r"no result within 0\.2 s.*refused")
    with open_admin(at(address, default_api_timeout_ms=200)) as admin, late:
        admin.list_topics()


def test_second_bootstrap_address_is_used_if_the_first_is_dead(kafka: Kafka) -> None:
    addresses = (f"{LOOPBACK}:{unused_port()}", kafka.bootstrap)
    with open_admin(at(*addresses), waits_for_broker=False) as admin:
        assert admin.describe_cluster().nodes


def test_name_that_does_not_exist_is_an_error() -> None:
    unknown = pytest.raises(RetriableError, match="no-such-host")
    with open_admin(at("no-such-host.invalid:1"), waits_for_broker=False) as admin, unknown:
        admin.list_topics()


def test_retries_0_ends_a_call_with_its_first_failure() -> None:
    address = f"{LOOPBACK}:{unused_port()}"
    refused = pytest.raises(RetriableError, match="refused")
    with open_admin(at(address, retries=0)) as admin, refused:
        admin.list_topics()


@pytest.mark.slow
def test_import_of_the_client_and_of_all_its_calls_imports_no_trio() -> None:
    program = """
import sys
from trio_kafka.clients.admin.calls.operation import Operation
from trio_kafka.clients.admin.operations import AdminOperations
from trio_kafka.clients.blocking import open_admin
for name, value in vars(AdminOperations).items():
    if isinstance(value, Operation):
        getattr(AdminOperations, name)
assert "trio" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_peer_that_does_not_speak_kafka_is_named() -> None:
    def answer() -> None:
        with listener.accept()[0] as client:
            client.recv(1000)
            client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 10)

    with socket.create_server((LOOPBACK, 0)) as listener:
        address = f"{LOOPBACK}:{listener.getsockname()[1]}"
        peer = threading.Thread(target=answer)
        peer.start()
        garbage = pytest.raises(NotKafkaError, match=address)
        with open_admin(at(address), waits_for_broker=False) as admin, garbage as error:
            admin.list_topics()
        peer.join()
    assert not error.value.sent
