"""HTTP client of commands. The broker is usually on this machine, so no proxy is used."""

import base64
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse
from typing import Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    build_opener,
)

from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.cli.http_address import CA, HttpAddress, HttpCredentials
from trio_kafka.strict_json import parse_json

_LOCAL: Final = ("localhost", "127.0.0.1", "::1")


@contextmanager
def opened(at: str, path: str, timeout_s: float) -> Iterator[HTTPResponse]:
    """Ask for a page, and yield the response.

    at: URL that the page is below. path: with its query, and without a slash at the beginning.
    timeout_s: longest wait for the connection, and for each piece of the response.
    Credentials and the file of a CA are those of an HttpAddress, else of the environment.
    Raises CommandFailedError, which names `at` or says what the server said.
    """
    with sent(at, Request(f"{at.rstrip('/')}/{path}"), timeout_s) as response:  # noqa: S310 - see sent
        yield response


@contextmanager
def sent(at: str, request: Request, timeout_s: float) -> Iterator[HTTPResponse]:
    """Send a request with credentials, and yield the response. Arguments, errors: see `opened`."""
    if not at.startswith(("http://", "https://")):
        raise CommandFailedError(f"{at}: want an address that begins with http:// or https://")
    credentials = (
        at.credentials if isinstance(at, HttpAddress) else HttpCredentials.of_environment()
    )
    for name, value in _headers(at, credentials).items():
        request.add_header(name, value)
    opener = _opener(at, credentials.ca)
    try:
        with opener.open(request, timeout=timeout_s) as response:
            yield response
    except HTTPError as error:
        raise CommandFailedError(_message_of(error), FAILED) from error
    except (URLError, HTTPException, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", None) or error
        hint = "is the broker running?"
        if isinstance(reason, ssl.SSLCertVerificationError):
            reason, hint = reason.verify_message, f"name the file of its CA by --ca or {CA}"
        raise CommandFailedError(f"{at}: {reason}; {hint}", FAILED) from error


class _NoRedirects(HTTPRedirectHandler):
    """Follows no redirect: it would take the credentials to another server."""

    def redirect_request(self, *_: object) -> None:
        return None


def _opener(at: str, ca: str) -> OpenerDirector:
    """Return what opens pages of a server. Raises CommandFailedError for a CA that is none."""
    handlers = [ProxyHandler({}), _NoRedirects()]
    if at.startswith("https://"):
        try:
            context = ssl.create_default_context(cafile=ca or None)
        except (OSError, ssl.SSLError) as error:
            raise CommandFailedError(f"CA file {ca}: {error}") from error
        handlers.append(HTTPSHandler(context=context))
    return build_opener(*handlers)


def _headers(at: str, credentials: HttpCredentials) -> dict[str, str]:
    """Return the header of credentials. Raises CommandFailedError.

    A password goes over TLS, or stays on this machine.
    """
    if credentials.token:
        return {"Authorization": f"Bearer {credentials.token}"}
    if not credentials.user:
        return {}
    if at.startswith("http://") and urlsplit(at).hostname not in _LOCAL:
        raise CommandFailedError(f"{at}: the password of {credentials.user} needs https://")
    pair = f"{credentials.user}:{credentials.password}".encode()
    return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}


def read_json(at: str, path: str, timeout_s: float) -> object:
    """Return the JSON document of a page; see `opened`. Raises CommandFailedError."""
    with opened(at, path, timeout_s) as response:
        try:
            return parse_json(response.read())
        except ValueError as error:
            raise CommandFailedError(f"{at}: no admin UI answers there", FAILED) from error


def _message_of(error: HTTPError) -> str:
    try:
        document = parse_json(error.read())
        return str(document["message"])
    except (ValueError, KeyError, TypeError, OSError):
        return f"status {error.code} {error.reason}"
