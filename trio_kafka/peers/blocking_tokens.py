"""One attempt to read a token from its source, in the calling thread, with a deadline of its own.

Source: RFC 6749 §4.4 and §5.2; ClientCredentialsJwtRetriever of Apache Kafka 4.4.0. Unlike Java's
client, this one follows no redirect: it would take the client's password to another server.
"""

import base64
import http.client
import ssl
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Final
from urllib.parse import quote_plus, urlencode

from trio_kafka.config.setting import ConfigError
from trio_kafka.peers.blocking_http import timed_opener
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
    headers = {
        "Authorization": f"Basic {_basic(endpoint)}",
        "Accept": "application/json",
        "Cache-Control": "no-cache",
    }
    data = urlencode(form).encode()
    return urllib.request.Request(endpoint.url, data, headers)  # noqa: S310 - the scheme is checked


def _basic(endpoint: TokenEndpoint) -> str:
    client, secret = endpoint.client_id, endpoint.client_secret
    if endpoint.urlencode:
        client, secret = quote_plus(client), quote_plus(secret)
    return base64.b64encode(f"{client}:{secret}".encode()).decode()


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
    secret = endpoint.client_secret
    if not text or any(form in text for form in (secret, quote_plus(secret), _basic(endpoint))):
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


def _opener(endpoint: TokenEndpoint, deadline: float) -> urllib.request.OpenerDirector:
    """Return what opens the endpoint. Raises TokenRefusedError for stores that cannot be used."""
    if not endpoint.url.lower().startswith("https:"):
        return timed_opener(deadline)
    # Imported here: it imports cryptography.
    from trio_kafka.security.tls.contexts import client_context  # noqa: PLC0415 - see above

    try:
        return timed_opener(deadline, client_context(endpoint.tls))
    except ConfigError as error:
        raise TokenRefusedError(f"sasl.jaas.config: {error}") from None
