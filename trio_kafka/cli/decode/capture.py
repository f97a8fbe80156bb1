"""Kafka's requests and responses of the connections in a capture. Does no I/O."""

from collections.abc import Iterator
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.cli.decode.frames import (
    RequestKind,
    correlation_of,
    read_request,
    read_response,
)
from trio_kafka.cli.decode.pcap import Flow, Stream, read_segments

_SIZE: Final = 4
_LARGEST: Final = 104_857_600  # socket.request.max.bytes


@define(eq=False)
class FlowFrames:
    """Frames of one flow. kinds: requests that wait for their responses, by correlation id.

    error: why the flow cannot be read any further; empty: it can.
    """

    stream: Stream = field(factory=Stream)
    kinds: dict[int, RequestKind] = field(factory=dict)
    error: str = ""
    _rest: bytes = b""

    def cut(self, data: bytes) -> Iterator[bytes]:
        """Yield the whole frames. Raises ValueError for what cannot be a frame."""
        self._rest += data
        while len(self._rest) >= _SIZE:
            size = int.from_bytes(self._rest[:_SIZE], "big", signed=True)
            if not _SIZE <= size <= _LARGEST:
                raise ValueError(f"a frame of {size} bytes: this is not Kafka's protocol, or TLS")
            if len(self._rest) < _SIZE + size:
                return
            frame, self._rest = self._rest[_SIZE : _SIZE + size], self._rest[_SIZE + size :]
            yield frame


def decode_capture(capture: bytes, port: int | None = None) -> Iterator[dict[str, object]]:
    """Yield each request and response with time, source and target; or an `error`.

    port: of the brokers; None: the first frame of a connection shows which side asks. A flow ends
    at its first error. Raises ValueError if it is no capture.
    """
    flows: dict[Flow, FlowFrames] = {}
    clients: set[Flow] = set()
    for segment in read_segments(capture):
        flow = segment.flow
        frames = flows.setdefault(flow, FlowFrames())
        data = frames.stream.add(segment)
        if frames.error or not data or not _is_chosen(flow, port):
            continue
        place: dict[str, object] = {
            "time_ms": int(segment.time_s * 1000),
            "from": flow.source,
            "to": flow.target,
        }
        try:
            for frame in frames.cut(data):
                if flow.reverse not in clients and (
                    flow in clients or port is None or flow.target.endswith(f":{port}")
                ):
                    document, kind, correlation = read_request(frame)
                    clients.add(flow)
                    frames.kinds[correlation] = kind
                else:
                    document = _response(frame, flows.get(flow.reverse))
                yield place | document
        except ValueError as error:
            frames.error = str(error)
            yield place | {"error": frames.error}


def _response(frame: bytes, requests: FlowFrames | None) -> dict[str, object]:
    kinds = {} if requests is None else requests.kinds
    kind = kinds.pop(correlation_of(frame), None)
    if kind is None:
        return {"correlation_id": correlation_of(frame), "note": "its request is not captured"}
    return read_response(frame, kind)


def _is_chosen(flow: Flow, port: int | None) -> bool:
    return port is None or any(end.endswith(f":{port}") for end in (flow.source, flow.target))
