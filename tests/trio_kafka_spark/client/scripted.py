"""A broker of a few lines, in a thread: for answers and faults that no real broker gives on demand.

It serves one topic, `t`, with partition 0, in the highest versions known here unless told
otherwise. Handlers by request class replace what it says; a handler returns a response, raw bytes
to be sent as they are, CLOSE, or None for no answer at all.
"""

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

from attrs import Factory

from trio_kafka.attributes import define
from trio_kafka.model import Endpoint
from trio_kafka.protocol.compiler import decoder, to_bytes
from trio_kafka.protocol.headers import RequestHeader, request_header_version
from trio_kafka.protocol.messages.k00_produce import ProduceRequest
from trio_kafka.protocol.messages.k01_fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from trio_kafka.protocol.messages.k02_list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from trio_kafka.protocol.messages.k03_metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from trio_kafka.protocol.messages.k17_sasl_handshake import SaslHandshakeRequest
from trio_kafka.protocol.messages.k18_api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from trio_kafka.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from trio_kafka.protocol.messages.k36_sasl_authenticate import SaslAuthenticateRequest
from trio_kafka.protocol.schema import message_of
from trio_kafka.wire.server import small_answer

CLOSE: Final = object()
TOPIC_ID: Final = b"topic-id-of-16-b"
REQUESTS: Final = (
    ProduceRequest,
    FetchRequest,
    ListOffsetsRequest,
    MetadataRequest,
    SaslHandshakeRequest,
    ApiVersionsRequest,
    InitProducerIdRequest,
    SaslAuthenticateRequest,
)
Handler = Callable[[Any], Any]


@define
class Scripted:
    """The address, and what was asked: each request with its version."""

    endpoint: Endpoint
    handlers: dict[type[Any], Handler]
    at_most: Mapping[type[Any], int]
    topic_id: bytes
    received: list[tuple[Any, int]] = Factory(list)
    correlations: list[int] = Factory(list)
    connections: int = 0

    @property
    def bootstrap(self) -> str:
        return str(self.endpoint)

    def requests(self, cls: type[Any]) -> list[Any]:
        """Those of one kind, in order."""
        return [request for request, _ in self.received if isinstance(request, cls)]

    def versions(self, cls: type[Any]) -> list[int]:
        return [version for request, version in self.received if isinstance(request, cls)]

    def answer(self, request: Any) -> Any:
        cls = type(request)
        if cls in self.handlers:
            return self.handlers[cls](request)
        return {
            ApiVersionsRequest: self.api_versions,
            MetadataRequest: self.metadata,
            ListOffsetsRequest: offsets_answer,
        }[cls](request)

    def api_versions(self, _request: Any = None) -> ApiVersionsResponse:
        served = []
        for cls in REQUESTS:
            message = message_of(cls)
            first, last = message.versions
            served.append(ApiVersion(message.key or 0, first, self.at_most.get(cls, last)))
        return ApiVersionsResponse(api_keys=served)

    def metadata(self, _request: Any = None, **changes: Any) -> MetadataResponse:
        """One topic with one partition, which this broker leads. changes: of the partition."""
        partition = {"partition_index": 0, "leader_id": 1, "leader_epoch": 3, "error_code": 0}
        return MetadataResponse(
            brokers=[MetadataResponseBroker(1, self.endpoint.host, self.endpoint.port)],
            topics=[
                MetadataResponseTopic(
                    0,
                    "t",
                    self.topic_id,
                    partitions=[MetadataResponsePartition(**(partition | changes))],
                )
            ],
        )


def offsets_answer(request: ListOffsetsRequest, first: int = 0, last: int = 100) -> Any:
    """ListOffsets of one partition: from `first` to `last`."""
    [topic] = request.topics
    [partition] = topic.partitions
    offset = last if partition.timestamp == -1 else first
    row = ListOffsetsPartitionResponse(partition.partition_index, 0, -1, offset)
    return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(topic.name, [row])])


def fetch_answer(records: bytes = b"", *, error: int = 0, **changes: Any) -> FetchResponse:
    """Fetch of one partition. changes: of its data."""
    numbers = {"high_watermark": 100, "last_stable_offset": 100, "log_start_offset": 0}
    data = PartitionData(0, error, **(numbers | changes), records=memoryview(records))
    return FetchResponse(responses=[FetchableTopicResponse("t", TOPIC_ID, [data])])


@contextmanager
def scripted(
    handlers: Mapping[type[Any], Handler] | None = None,
    *,
    at_most: Mapping[type[Any], int] | None = None,
    topic_id: bytes = TOPIC_ID,
    tls: ssl.SSLContext | None = None,
) -> Iterator[Scripted]:
    """The broker, until the block ends. at_most: highest version that it serves, by request."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        endpoint = Endpoint("127.0.0.1", listener.getsockname()[1])
        broker = Scripted(endpoint, dict(handlers or {}), at_most or {}, topic_id)
        open_ones: list[socket.socket] = []
        threads = [threading.Thread(target=_accept, args=(listener, broker, tls, open_ones, []))]
        threads[0].start()
        try:
            yield broker
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            for connection in open_ones:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            threads[0].join()


def _accept(
    listener: socket.socket,
    broker: Scripted,
    tls: ssl.SSLContext | None,
    open_ones: list[socket.socket],
    threads: list[threading.Thread],
) -> None:
    while True:
        try:
            accepted, _ = listener.accept()
        except OSError:
            break
        broker.connections += 1
        if tls is not None:
            accepted = tls.wrap_socket(accepted, server_side=True, do_handshake_on_connect=False)
        open_ones.append(accepted)
        threads.append(threading.Thread(target=_serve, args=(accepted, broker)))
        threads[-1].start()
    for connection in open_ones:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
    for thread in threads:
        thread.join()


def _serve(stream: socket.socket, broker: Scripted) -> None:
    with suppress(OSError), stream:
        if isinstance(stream, ssl.SSLSocket) and not _shaken(stream):
            return
        with stream.makefile("rb") as incoming:
            while head := incoming.read(4):
                answer = _answer(incoming.read(struct.unpack(">i", head)[0]), broker)
                if answer is CLOSE:
                    return
                if answer is not None:
                    stream.sendall(answer)


def _shaken(stream: ssl.SSLSocket) -> bool:
    """Whether the handshake went well. If not, the client has its alert before the end: a reset
    would take that away.
    """
    try:
        stream.do_handshake()
    except ssl.SSLError:
        socket.socket.shutdown(stream, socket.SHUT_WR)
        while socket.socket.recv(stream, 1024):
            pass
        return False
    return True


def _answer(frame: bytes, broker: Scripted) -> Any:
    key, version, correlation = struct.unpack_from(">hhi", frame)
    cls = next(candidate for candidate in REQUESTS if message_of(candidate).key == key)
    message = message_of(cls)
    header = request_header_version(message, version)
    _, position = decoder(RequestHeader, header)(frame, 0)
    if version > broker.at_most.get(cls, version) and cls is ApiVersionsRequest:
        refused = broker.api_versions()
        refused.error_code = 35
        return small_answer(correlation, to_bytes(refused, 0), flexible=False)
    request, _ = decoder(cls, version)(frame, position)
    broker.received.append((request, version))
    broker.correlations.append(correlation)
    answer = broker.answer(request)
    if answer is None or answer is CLOSE or isinstance(answer, bytes):
        return answer
    flexible = header == 2 and cls is not ApiVersionsRequest
    return small_answer(correlation, to_bytes(answer, version), flexible=flexible)
