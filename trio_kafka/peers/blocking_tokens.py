"""One attempt to read a token from its source, in the calling thread, with a deadline of its own.

Source: RFC 6749 §4.4 and §5.2; ClientCredentialsJwtRetriever of Apache Kafka 4.4.0. Unlike Java's
client, this one follows no redirect: it would take the client's password to another server.
"""

import base64
import http.client
import io
import socket
import ssl
import time
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote_plus, urlencode

from trio_kafka.config.setting import ConfigError
from trio_kafka.peers.blocking import left_s
from trio_kafka.security.tokens.sources import (
    GivenToken,
    TokenEndpoint,
    TokenFile,
    TokenSource,
    UnsecuredClaims,
)
from trio_kafka.security.tokens.unsecured import unsecured_token
from trio_kafka.strict_json import parse_json

_LARGEST: Final = 1 << 20  # bytes of an answer, and of a file
_LONGEST_REASON: Final = 200
_SUCCESS: Final = (200, 201)
# After these Kafka's client gives up at once.
_FINAL: Final = frozenset((*range(400, 408), *range(409, 416), 501, 505)) - {408}
_REDIRECTS: Final = range(300, 400)


class TokenRefusedError(Exception):
    """The source gives no token, and no second attempt changes that. The text has no secret."""


def read_source(source: TokenSource, wall_s: float) -> str:
    """Return the text of a token. wall_s: wall-clock time, for a token that is made here.

    Raises TokenRefusedError; OSError if a retry may help.
    """
    match source:
        case GivenToken():
            return source.text
        case TokenFile():
            return _of_file(source.path)
        case UnsecuredClaims():
            return unsecured_token(source.options, wall_s)
        case TokenEndpoint():
            return _of_endpoint(source)


def _of_file(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            data = file.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise TokenRefusedError(f"{path}: more than {_LARGEST} bytes are no token")
        return data.decode("ascii").strip()
    except OSError as error:
        raise TokenRefusedError(f"{path}: {error.strerror or error}") from error
    except ValueError:  # a NUL in the path, or no ASCII
        raise TokenRefusedError(f"{path}: holds no token") from None


def _of_endpoint(endpoint: TokenEndpoint) -> str:
    """Ask for a token. Raises TokenRefusedError, OSError."""
    deadline = time.monotonic() + endpoint.connect_s + endpoint.read_s
    try:
        with _opener(endpoint, deadline).open(
            _request(endpoint), timeout=endpoint.connect_s
        ) as answer:
            status, body = answer.status, answer.read(_LARGEST + 1)
    except urllib.error.HTTPError as error:
        with error:
            raise _failed(endpoint, error) from None
    except urllib.error.URLError as error:
        reason = error.reason
        if isinstance(reason, ssl.SSLCertVerificationError):
            why = f"its certificate is not accepted: {reason.verify_message}"
            raise TokenRefusedError(f"{endpoint.url}: {why}") from None
        raise OSError(f"{endpoint.url}: {reason or type(error).__name__}") from None
    except http.client.HTTPException as error:
        raise OSError(f"{endpoint.url}: no answer of HTTP: {type(error).__name__}") from None
    except OSError as error:
        raise OSError(f"{endpoint.url}: {str(error) or type(error).__name__}") from None
    if status not in _SUCCESS:
        raise OSError(f"{endpoint.url}: answered {status}")
    return _token_of(endpoint, body)


def _request(endpoint: TokenEndpoint) -> urllib.request.Request:
    form = {"grant_type": "client_credentials"}
    if endpoint.scope:
        form["scope"] = endpoint.scope
    client, secret = endpoint.client_id, endpoint.client_secret
    if endpoint.urlencode:
        client, secret = quote_plus(client), quote_plus(secret)
    credentials = base64.b64encode(f"{client}:{secret}".encode()).decode()
    headers = {
        "Authorization": f"Basic {credentials}",
        "Accept": "application/json",
        "Cache-Control": "no-cache",
    }
    data = urlencode(form).encode()
    return urllib.request.Request(endpoint.url, data, headers)  # noqa: S310 - the scheme is checked


def _failed(endpoint: TokenEndpoint, error: urllib.error.HTTPError) -> Exception:
    """Return the error of an answer that is no success."""
    reason = f"{endpoint.url}: answered {error.code}{_said(endpoint, error)}"
    if error.code in _REDIRECTS:
        return TokenRefusedError(f"{reason}; a redirect is not followed: name the endpoint itself")
    return TokenRefusedError(reason) if error.code in _FINAL else OSError(reason)


def _said(endpoint: TokenEndpoint, error: urllib.error.HTTPError) -> str:
    """Return what the endpoint says about its error, unless it repeats the secret."""
    try:
        document = parse_json(error.read(_LARGEST))
        words = [document[name] for name in ("error", "error_description") if name in document]
    except (ValueError, TypeError, OSError, http.client.HTTPException):
        return ""
    text = ": ".join(str(word) for word in words)[:_LONGEST_REASON]
    if not text or endpoint.client_secret in text:
        return ""
    return f" ({''.join(letter if letter.isprintable() else '?' for letter in text)})"


def _token_of(endpoint: TokenEndpoint, body: bytes) -> str:
    if len(body) > _LARGEST:
        raise TokenRefusedError(f"{endpoint.url}: the answer has more than {_LARGEST} bytes")
    try:
        token = parse_json(body)["access_token"]
    except (ValueError, KeyError, TypeError):
        token = None
    if not isinstance(token, str) or not token.strip():
        raise TokenRefusedError(f"{endpoint.url}: the answer has no access_token")
    return token.strip()


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

    def readinto(self, room: Any) -> int | None:
        self._socket.settimeout(left_s(self._deadline))
        return self._stream.raw.readinto(room)

    def close(self) -> None:
        self._stream.close()
        super().close()


class _TimedResponse(http.client.HTTPResponse):
    """A response that ends with an error at a deadline."""

    def __init__(self, connected: socket.socket, *, deadline: float, **options: Any) -> None:
        super().__init__(connected, **options)
        self.fp = io.BufferedReader(_TimedBytes(connected, self.fp, deadline))


class _Http(urllib.request.HTTPHandler):
    """Opens connections whose responses have a deadline."""

    def __init__(self, deadline: float) -> None:
        super().__init__()
        self._deadline = deadline

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_timed(http.client.HTTPConnection, self._deadline), request)


class _Https(urllib.request.HTTPSHandler):
    """As `_Http`, with TLS."""

    def __init__(self, deadline: float, context: ssl.SSLContext) -> None:
        super().__init__(context=context)
        self._deadline = deadline
        self._tls = context

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        make = _timed(http.client.HTTPSConnection, self._deadline)
        return self.do_open(make, request, context=self._tls)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


def _timed(kind: type[http.client.HTTPConnection], deadline: float) -> Any:
    """Return what makes connections of a kind, with a deadline of the response."""

    def connect(*args: Any, **options: Any) -> http.client.HTTPConnection:
        connection = kind(*args, **options)
        connection.response_class = partial(_TimedResponse, deadline=deadline)  # type: ignore[assignment]  # a maker will do
        return connection

    return connect


def _opener(endpoint: TokenEndpoint, deadline: float) -> urllib.request.OpenerDirector:
    """Return what opens the endpoint. Raises TokenRefusedError for stores that cannot be used."""
    opener = urllib.request.OpenerDirector()
    if endpoint.url.lower().startswith("https:"):
        # Imported here: it imports cryptography.
        from trio_kafka.security.tls.contexts import client_context  # noqa: PLC0415 - see above

        try:
            opener.add_handler(_Https(deadline, client_context(endpoint.tls)))
        except ConfigError as error:
            raise TokenRefusedError(f"sasl.jaas.config: {error}") from None
    else:
        opener.add_handler(_Http(deadline))
    for handler in (
        urllib.request.ProxyHandler(),  # as the environment says
        urllib.request.HTTPErrorProcessor(),
        urllib.request.HTTPDefaultErrorHandler(),
        _NoRedirects(),
    ):
        opener.add_handler(handler)
    return opener
