"""SaslHandshake (key 17): choose a SASL mechanism; v1 is followed by SaslAuthenticate."""

from typing import ClassVar

from trio_kafka.protocol.schema import array, int16, request, response, string


@request(key=17, versions="0-1")
class SaslHandshakeRequest:
    """The mechanism that the client wants."""

    response: ClassVar[type["SaslHandshakeResponse"]]

    mechanism: str = string()


@response(SaslHandshakeRequest)
class SaslHandshakeResponse:
    """The mechanisms that are enabled."""

    error_code: int = int16()
    mechanisms: list[str] = array(string)
