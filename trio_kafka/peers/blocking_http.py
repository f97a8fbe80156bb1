"""HTTP in the calling thread, with a deadline for the whole answer, and without redirects.

urllib's own timeout is for each receive: a server that sends byte by byte would hold the thread. A
redirect would take the credentials of a request to another server.
"""

import http.client
import io
import socket
import ssl
import urllib.request
from functools import partial
from typing import TYPE_CHECKING

from trio_kafka.peers.blocking import left_s

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


def timed_opener(
    deadline: float, context: ssl.SSLContext | None = None
) -> urllib.request.OpenerDirector:
    """Return what opens URLs of http, or with a context those of https, as urllib does.

    deadline: of answers, a time of `time.monotonic`; the timeout of `open` is for the connection.
    Proxies are those of the environment. A redirect is an HTTPError.
    """
    opener = urllib.request.OpenerDirector()
    for handler in (
        _Http(deadline) if context is None else _Https(deadline, context),
        urllib.request.ProxyHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.HTTPDefaultErrorHandler(),
        _NoRedirects(),
    ):
        opener.add_handler(handler)
    return opener


class _TimedBytes(io.RawIOBase):
    """Bytes of a response until a deadline, however slowly they come."""

    def __init__(
        self, connected: socket.socket, stream: io.BufferedReader, deadline: float
    ) -> None:
        self._socket = connected
        self._stream = stream  # keeps the socket open until it is closed
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, room: "WriteableBuffer") -> int | None:
        self._socket.settimeout(left_s(self._deadline))
        return self._stream.raw.readinto(memoryview(room))

    def close(self) -> None:
        self._stream.close()
        super().close()


class _TimedResponse(http.client.HTTPResponse):
    """A response that ends with an error at a deadline."""

    def __init__(
        self,
        connected: socket.socket,
        debuglevel: int = 0,
        method: str | None = None,
        *,
        deadline: float,
    ) -> None:
        super().__init__(connected, debuglevel, method)
        self.fp = io.BufferedReader(_TimedBytes(connected, self.fp, deadline))


class _Connection(http.client.HTTPConnection):
    """A connection whose responses have a deadline."""

    def __init__(self, host: str, *, timeout: float, deadline: float) -> None:
        super().__init__(host, timeout=timeout)
        self.response_class = partial(_TimedResponse, deadline=deadline)  # type: ignore[assignment]  # makes one


class _TlsConnection(http.client.HTTPSConnection):
    """As `_Connection`, with TLS."""

    def __init__(
        self, host: str, *, timeout: float, deadline: float, context: ssl.SSLContext
    ) -> None:
        super().__init__(host, timeout=timeout, context=context)
        self.response_class = partial(_TimedResponse, deadline=deadline)  # type: ignore[assignment]  # makes one


class _Http(urllib.request.HTTPHandler):
    """Opens http URLs."""

    def __init__(self, deadline: float) -> None:
        super().__init__()
        self._deadline = deadline

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Connection, request, deadline=self._deadline)  # type: ignore[arg-type]  # takes what it needs


class _Https(urllib.request.HTTPSHandler):
    """Opens https URLs."""

    def __init__(self, deadline: float, context: ssl.SSLContext) -> None:
        super().__init__(context=context)
        self._deadline = deadline
        self._tls = context

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        make = partial(_TlsConnection, context=self._tls)
        return self.do_open(make, request, deadline=self._deadline)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None
