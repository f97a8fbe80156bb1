"""Clients that reload a plugin in a loop: afterwards every API answers, and no request hangs."""

import struct
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from tests.attacks.harness import Attacked, attacked_broker
from tests.benchmarks.connection import connect
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.compiler import decoder
from trio_kafka.protocol.headers import response_header_version
from trio_kafka.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from trio_kafka.protocol.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from trio_kafka.protocol.messages.k16_list_groups import ListGroupsRequest
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from trio_kafka.protocol.messages.k20_delete_topics import DeleteTopicsRequest, DeleteTopicState
from trio_kafka.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from trio_kafka.protocol.messages.k32_describe_configs import DescribeConfigsRequest
from trio_kafka.protocol.messages.k10001_describe_tree import DescribeTreeRequest
from trio_kafka.protocol.messages.k10002_list_plugins import ListPluginsRequest
from trio_kafka.protocol.messages.k10003_reload_plugin import ReloadPluginRequest
from trio_kafka.protocol.schema import message_of
from trio_kafka.testing.ports import unused_port
from trio_kafka.testing.processes import Address
from trio_kafka.testing.scripted_client import newest, request_frame

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
Size = Callable[[int, int], int]
DEADLINE_S: Final = 30.0  # for an answer
LONGEST_WAIT_S: Final = 10.0  # of an honest client, on a busy machine
AUDIT: Final = "plugin.audit.enabled=true"


class Client:
    """One connection that asks in messages."""

    def __init__(self, address: Address) -> None:
        self._open = connect(address)
        self._connection = self._open.__enter__()
        self._connection.socket.settimeout(DEADLINE_S)

    def close(self) -> None:
        self._open.__exit__(None, None, None)

    def ask(self, request: Any) -> Any:
        """The answer, in the newest version. Raises TimeoutError."""
        version, response = newest(type(request)), message_of(type(request)).response
        assert response is not None
        data = bytes(self._connection.call(request_frame(request, version)))
        position = struct.calcsize(">i") + response_header_version(message_of(response), version)
        return decoder(response, version)(data, position)[0]


@contextmanager
def client_of(attacked: Attacked) -> Iterator[Client]:
    client = Client(attacked.broker.address)
    try:
        yield client
    finally:
        client.close()


def reload_again_and_again(
    attacked: Attacked, loops: int, seconds: float
) -> tuple[Counter[int], float]:
    """How often each error code was the answer, and how long it took: a busy machine needs more."""
    codes: Counter[int] = Counter()
    began = time.perf_counter()
    ends = began + seconds
    failures: list[BaseException] = []

    def reload() -> None:
        try:
            with client_of(attacked) as client:
                while time.perf_counter() < ends:
                    codes[client.ask(ReloadPluginRequest("audit")).error_code] += 1
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=reload) for _ in range(loops)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
    return codes, time.perf_counter() - began


def assert_every_kind_of_api_answers(attacked: Attacked) -> None:
    """Plain, async and parked, read in steps and written in steps, audited or not."""
    with client_of(attacked) as client:
        topic = CreatableTopic("after-the-attack", 1, 1)
        (created_topic,) = client.ask(CreateTopicsRequest([topic], timeout_ms=5000)).topics
        assert created_topic.error_code == 0
        partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=100)
        requests = [
            MetadataRequest(topics=None),
            ListOffsetsRequest(
                replica_id=-1,
                topics=[ListOffsetsTopic(topic.name, [ListOffsetsPartition(0, -1, -2)])],
            ),
            FetchRequest(  # waits for bytes that do not come
                max_wait_ms=200,
                min_bytes=1,
                session_epoch=-1,
                topics=[FetchTopic(topic_id=created_topic.topic_id, partitions=[partition])],
            ),
            FindCoordinatorRequest(coordinator_keys=["g"]),
            ListGroupsRequest(),
            InitProducerIdRequest(None, 1000),
            DescribeConfigsRequest([]),
            DescribeTreeRequest(),
            ListPluginsRequest(),
            DeleteTopicsRequest([DeleteTopicState(topic.name)], timeout_ms=5000),
        ]
        for request in requests:
            answer = client.ask(request)
            assert getattr(answer, "error_code", 0) == 0, answer
        time.sleep(1)  # the plugin is reloaded once a second
        assert client.ask(ReloadPluginRequest("audit")).error_code == 0


def test_every_api_is_served_after_two_connections_reloaded_the_audit_plugin_repeatedly(
    tmp_path: Path, size: Size
) -> None:
    seconds = size(2, 4)
    with attacked_broker(tmp_path, AUDIT) as attacked:
        codes, took_s = reload_again_and_again(attacked, 2, seconds)
        assert_every_kind_of_api_answers(attacked)

    assert 1 <= codes[0] <= took_s + 2
    assert codes.keys() <= {0, ErrorCode.THROTTLING_QUOTA_EXCEEDED}
    assert "plugin failed" not in attacked.log
    assert "Traceback" not in attacked.log


def test_other_clients_are_served_during_eight_plugin_reload_loops(
    tmp_path: Path, size: Size
) -> None:
    seconds, port = size(3, 20), unused_port()
    waits: list[float] = []
    stop = threading.Event()

    def ask_for_health() -> None:
        while not stop.is_set():
            began = time.perf_counter()
            with urllib.request.urlopen(
                f"http://127.0.0.1:{port}/healthz", timeout=DEADLINE_S
            ) as answer:
                assert answer.status == 200
            waits.append(time.perf_counter() - began)

    http = f"plugin.http.listeners=http://127.0.0.1:{port}"
    with attacked_broker(tmp_path, AUDIT, http) as attacked:
        thread = threading.Thread(target=ask_for_health)
        thread.start()
        try:
            codes, took_s = reload_again_and_again(attacked, 8, seconds)
        finally:
            stop.set()
            thread.join()
        assert_every_kind_of_api_answers(attacked)

    assert len(waits) > seconds
    assert max(waits) < LONGEST_WAIT_S
    assert 1 <= codes[0] <= took_s + 2
    assert codes.total() <= 8 * (took_s + 2)  # a loop has an answer a second
