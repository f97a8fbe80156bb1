import threading
import time
from typing import Any

import pytest

from tests.trio_kafka_spark.client.scripted import CLOSE, fetch_answer, offsets_answer, scripted
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k01_fetch import FetchRequest
from trio_kafka.protocol.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k26_end_txn import EndTxnRequest
from trio_kafka.testing.ports import unused_port
from trio_kafka.testing.processes import BrokerProcess
from trio_kafka_spark.client.connection import BrokerConnectionError, Connection
from trio_kafka_spark.client.errors import SourceError
from trio_kafka_spark.client.settings import ClientSettings


def settings(endpoint: Endpoint, **more: Any) -> ClientSettings:
    return ClientSettings(bootstrap=(endpoint,), **more)


def offsets_of(partition: int = 0, timestamp: int = -1) -> ListOffsetsRequest:
    row = ListOffsetsPartition(partition, -1, timestamp)
    return ListOffsetsRequest(-1, 0, [ListOffsetsTopic("t", [row])])


def test_a_connection_uses_the_highest_api_version_of_client_broker_and_limit() -> None:
    with (
        scripted(at_most={MetadataRequest: 9}) as broker,
        Connection(broker.endpoint, settings(broker.endpoint)) as connection,
    ):
        connection.ask(MetadataRequest(None))
        connection.ask(MetadataRequest(None), at_most=4)

        assert broker.versions(MetadataRequest) == [9, 4]


def test_api_versions_is_repeated_in_the_older_version_that_the_broker_supports() -> None:
    with (
        scripted(at_most={ApiVersionsRequest: 2}) as broker,
        Connection(broker.endpoint, settings(broker.endpoint)) as connection,
    ):
        assert broker.versions(ApiVersionsRequest) == [2]
        assert connection.ask(MetadataRequest(None)).topics[0].name == "t"


def test_the_broker_answers_pipelined_requests_in_order(
    shared_broker: BrokerProcess,
) -> None:
    endpoint = Endpoint(*shared_broker.address)
    with Connection(endpoint, settings(endpoint)) as connection:
        connection.send(MetadataRequest([]))
        connection.send(offsets_of())
        assert connection.waiting == 2

        first, second = connection.receive(), connection.receive()

        assert (len(first.brokers), second.topics[0].name) == (1, "t")
        assert connection.waiting == 0


def test_an_error_names_an_api_that_the_broker_does_not_support() -> None:
    with (
        scripted() as broker,
        Connection(broker.endpoint, settings(broker.endpoint)) as connection,
        pytest.raises(SourceError, match=r"UNSUPPORTED_VERSION\] broker .* EndTxn"),
    ):
        connection.send(EndTxnRequest("id"))


def test_an_error_names_a_request_that_the_broker_is_too_old_for() -> None:
    with (
        scripted(at_most={MetadataRequest: 3}) as broker,
        Connection(broker.endpoint, settings(broker.endpoint)) as connection,
        pytest.raises(SourceError, match=r"too old for this request: Metadata.* version 3"),
    ):
        connection.send(MetadataRequest(None, allow_auto_topic_creation=False))


def test_records_of_a_fetch_response_are_a_view_of_the_received_bytes() -> None:
    records = bytes(range(256)) * 4096
    with (
        scripted({FetchRequest: lambda _: fetch_answer(records)}) as broker,
        Connection(broker.endpoint, settings(broker.endpoint)) as connection,
    ):
        [topic] = connection.ask(FetchRequest(max_wait_ms=0, min_bytes=0)).responses
        [data] = topic.partitions

        assert isinstance(data.records, memoryview)
        assert data.records.readonly
        assert len(data.records.obj) > len(data.records)
        assert bytes(data.records) == records


def test_an_error_names_an_unreachable_broker() -> None:
    endpoint = Endpoint("127.0.0.1", unused_port())

    with pytest.raises(BrokerConnectionError, match=f"broker {endpoint}: connecting: .*refused"):
        Connection(endpoint, settings(endpoint))


@pytest.mark.parametrize(
    "endpoint", [Endpoint("", 0), Endpoint("a" * 70, 1), Endpoint("\0", 1), Endpoint("a", 1 << 20)]
)
def test_a_connection_to_an_invalid_host_name_fails(endpoint: Endpoint) -> None:
    with pytest.raises(BrokerConnectionError, match="connecting"):
        Connection(endpoint, settings(endpoint, connect_timeout_ms=2000))


def test_a_request_without_a_response_in_time_fails() -> None:
    with scripted({MetadataRequest: lambda _: None}) as broker:
        quick = settings(broker.endpoint, request_timeout_ms=1)
        with (
            Connection(broker.endpoint, quick) as connection,
            pytest.raises(BrokerConnectionError, match="waiting for an answer: timed out"),
        ):
            connection.ask(MetadataRequest(None))


def test_the_connect_timeout_includes_the_api_versions_request() -> None:
    with scripted({ApiVersionsRequest: lambda _: None}) as broker:
        quick = settings(broker.endpoint, connect_timeout_ms=5, request_timeout_ms=60_000)
        with pytest.raises(BrokerConnectionError, match="opening: timed out"):
            Connection(broker.endpoint, quick)


@pytest.mark.parametrize(
    ("answer", "missing"), [(CLOSE, 4), (b"\0\0", 2), (b"\0\0\0\x09\0\0\0\x02", 5)]
)
def test_the_error_of_a_truncated_response_has_the_number_of_missing_bytes(
    answer: Any, missing: int
) -> None:
    with (
        scripted({MetadataRequest: lambda _: answer}) as broker,
        Connection(broker.endpoint, settings(broker.endpoint)) as connection,
    ):
        broker.handlers[ListOffsetsRequest] = lambda _: CLOSE
        connection.send(MetadataRequest(None))
        if answer is not CLOSE:
            connection.send(ListOffsetsRequest(-1))
        with pytest.raises(BrokerConnectionError, match=f"ended it, {missing} bytes are missing"):
            connection.receive()


@pytest.mark.parametrize(
    "garbage", [b"HTTP/1.1 400\r\n\r\n", b"\x15\x03\x03\x00\x02\x02\x28", b"\0\0\0\x05\0\0\0\x07!"]
)
def test_a_malformed_api_versions_response_is_a_protocol_error(garbage: bytes) -> None:
    with (
        scripted({ApiVersionsRequest: lambda _: garbage}) as broker,
        pytest.raises(SourceError, match=r"KAFKA_PROTOCOL_ERROR\] broker 127.*security\.protocol"),
    ):
        Connection(broker.endpoint, settings(broker.endpoint))


def test_a_throttled_client_waits_before_its_next_request() -> None:
    def throttled(request: Any) -> Any:
        answer = offsets_answer(request)
        answer.throttle_time_ms = 60
        return answer

    with (
        scripted({ListOffsetsRequest: throttled}) as broker,
        Connection(broker.endpoint, settings(broker.endpoint)) as connection,
    ):
        connection.ask(offsets_of())
        begun = time.monotonic()
        connection.ask(offsets_of())

        assert time.monotonic() - begun >= 0.05


def test_the_throttle_time_is_limited_to_the_request_timeout() -> None:
    def throttled(request: Any) -> Any:
        answer = offsets_answer(request)
        answer.throttle_time_ms = 0x7FFFFFFF
        return answer

    with scripted({ListOffsetsRequest: throttled}) as broker:
        quick = settings(broker.endpoint, request_timeout_ms=300)
        with Connection(broker.endpoint, quick) as connection:
            connection.ask(offsets_of())
            connection.ask(offsets_of())

        assert len(broker.requests(ListOffsetsRequest)) == 2


def test_a_connection_is_ready_only_after_a_response_has_arrived() -> None:
    may_answer = threading.Event()

    def late(request: Any) -> Any:
        may_answer.wait(10)
        return offsets_answer(request)

    with (
        scripted({ListOffsetsRequest: late}) as broker,
        Connection(broker.endpoint, settings(broker.endpoint)) as connection,
    ):
        connection.send(offsets_of())
        assert not connection.is_ready()

        may_answer.set()

        assert connection.is_ready(10)
        connection.receive()


def test_socket_buffers_have_the_configured_sizes() -> None:
    import socket

    with scripted() as broker:
        sized = settings(broker.endpoint, receive_buffer_bytes=20_000, send_buffer_bytes=30_000)
        with Connection(broker.endpoint, sized) as connection:
            sizes = [
                connection._peer._socket.getsockopt(socket.SOL_SOCKET, option)
                for option in (socket.SO_RCVBUF, socket.SO_SNDBUF)
            ]

    assert sizes == [40_000, 60_000]  # Linux doubles them
