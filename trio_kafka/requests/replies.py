"""Routes: one API in one version, with the codecs of its requests, responses and errors."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Final

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import ErrorCode
from trio_kafka.network.request import Request
from trio_kafka.protocol.compiler import counting_encoder, decoder_of_few, encoder
from trio_kafka.protocol.headers import request_header_version, response_header_version
from trio_kafka.protocol.schema import message_of
from trio_kafka.protocol.size_check import size_check
from trio_kafka.requests.api import Api
from trio_kafka.requests.chunked_codec import decode_in_steps, encode_in_steps
from trio_kafka.requests.error_answers import generic_error_answer
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.wire.frame import Frame
from trio_kafka.wire.server import (
    JOINED,
    Segments,
    answer,
    body_position,
    raw_client_id,
    small_answer,
)

_SUCCESS: Final[Mapping[int, int]] = {0: 1}


@define  # not frozen, which would make it three times as dear
class Encoded:
    """Response that is encoded already, in the version of the request.

    body: never changed.
    errors: number of each error code in it; None: code 0 once.
    """

    body: bytes
    errors: Mapping[int, int] | None = None


def encoded_in_steps(response: Any, version: int) -> Steps[Encoded]:
    """Encode a response without file ranges, and count its error codes."""
    errors: dict[int, int] = defaultdict(int)
    parts = yield from encode_in_steps(response, version, errors)
    return Encoded(b"".join(parts), errors)


@frozen(kw_only=True)
class Route:
    """One API in one version. Codecs in steps are compiled on first use, the others at once.

    waits: true if the handler is async.
    is_large: returns whether a response must be encoded in steps.
    counts_errors: the error codes of responses are counted in the stamps of their requests.
    charge: charges a request, and returns its response with a throttle time; None: no quota is set.
    """

    api: Api
    version: int
    handler: Callable[..., Any]
    waits: bool
    decode: Callable[[Frame, int], tuple[object, int]]
    encode: Callable[[object, Callable[[object], object]], None]
    is_large: Callable[[object], bool]
    flexible_request: bool
    flexible_response: bool
    counts_errors: bool = False
    charge: Callable[[Request, object], object] | None = None

    def read(self, request: Request, frame: Frame) -> object:
        """Decode a request and its client id. Bytes behind it are ignored: librdkafka sends some.

        Raises ProtocolError, UnicodeDecodeError for a client id that is no text, and ManyItemsError
        if `read_in_steps` must be used.
        """
        _read_client_id(request, frame)
        client_length = request.client_length
        position = 10 + client_length if client_length > 0 else 10
        if self.flexible_request:
            if position < len(frame) and not frame[position]:  # nearly always: no tagged fields
                position += 1
            else:
                position = body_position(frame, client_length, flexible=True)
        return self.decode(frame, position)[0]

    def write(self, request: Request, response: object) -> Segments:
        """Encode the response to `request` into segments.

        Raises EncodeError for a response that the version cannot carry.
        """
        correlation = request.correlation
        if self.charge is not None:
            response = self.charge(request, response)
        if type(response) is Encoded:
            if self.counts_errors:
                request.stamps.errors = _SUCCESS if response.errors is None else response.errors
            if len(response.body) > JOINED:
                return answer(correlation, (response.body,), flexible=self.flexible_response)
            return (small_answer(correlation, response.body, flexible=self.flexible_response),)
        parts: list[object] = []
        if self.counts_errors:
            counts: dict[int, int] = defaultdict(int)
            counting_encoder(self.api.response, self.version)(response, parts.append, counts)
            request.stamps.errors = counts
        else:
            self.encode(response, parts.append)
        return answer(correlation, parts, flexible=self.flexible_response)

    def read_in_steps(self, request: Request, frame: Frame) -> Steps[object]:
        """Decode a large request and its client id. Raises ProtocolError, UnicodeDecodeError."""
        _read_client_id(request, frame)
        position = body_position(frame, request.client_length, flexible=self.flexible_request)
        return (yield from decode_in_steps(self.api.request, self.version, frame, position))

    def write_in_steps(self, request: Request, response: object) -> Steps[Segments]:
        """Encode a large response into segments; a very large one is encoded while it is sent."""
        if self.charge is not None:
            response = self.charge(request, response)
        counts: dict[int, int] | None = defaultdict(int) if self.counts_errors else None
        parts = yield from encode_in_steps(response, self.version, counts, streams=True)
        if counts is not None:
            request.stamps.errors = counts
        return answer(request.correlation, parts, flexible=self.flexible_response)

    def error(self, request: object, code: ErrorCode, message: str | None) -> object:
        """Return the response with an error; None if no response of the API can carry it."""
        if self.api.error is not None:
            return self.api.error(request, code, message)
        return generic_error_answer(request, self.api.response, self.version, code, message)


def _read_client_id(request: Request, frame: Frame) -> None:
    """Set the client id. It is decoded only if it differs from the connection's last one."""
    connection, length = request.connection, request.client_length
    last: object = connection.raw_client_id
    if length != len(connection.raw_client_id) or frame[10 : 10 + length] != last:
        raw = raw_client_id(frame, length) or b""
        connection.latest_client_id = raw.decode()
        connection.raw_client_id = raw
    request.client_id = connection.latest_client_id


def make_route(api: Api, version: int) -> Route:
    """Return the route of a version, with compiled codecs."""
    return Route(
        api=api,
        version=version,
        handler=api.handler,
        waits=api.waits,
        decode=decoder_of_few(api.request, version),
        encode=encoder(api.response, version),
        is_large=size_check(api.response),
        flexible_request=request_header_version(message_of(api.request), version) >= 2,
        flexible_response=response_header_version(message_of(api.response), version) >= 1,
    )
