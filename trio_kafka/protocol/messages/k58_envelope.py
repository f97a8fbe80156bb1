"""Envelope (key 58): a broker forwards a request of a client to the controller."""

from typing import ClassVar

from trio_kafka.protocol.schema import bytes_, int16, request, response


@request(key=58, versions="0", flexible="0+")
class EnvelopeRequest:
    """The request with its header, the client's principal and address."""

    response: ClassVar[type["EnvelopeResponse"]]

    request_data: bytes = bytes_()
    request_principal: bytes | None = bytes_(nullable="0+")
    client_host_address: bytes = bytes_()


@response(EnvelopeRequest)
class EnvelopeResponse:
    """The response with its header."""

    response_data: bytes | None = bytes_(nullable="0+", default=None)
    error_code: int = int16()
