"""HTTP client of commands. The broker is usually on this machine, so no proxy is used."""

import base64
import os
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
from trio_kafka.strict_json import parse_json

ADMIN_ADDRESS: Final = "TRIO_KAFKA_ADMIN"
TOKEN: Final = "TRIO_KAFKA_HTTP_TOKEN"  # noqa: S105 - the name of a variable
"""Variable with a token, which goes before a user."""
USER: Final = "TRIO_KAFKA_HTTP_USER"
PASSWORD: Final = "TRIO_KAFKA_HTTP_PASSWORD"  # noqa: S105 - the name of a variable
CA: Final = "TRIO_KAFKA_HTTP_CA"
"""Variable with a PEM file of what certificates of servers are trusted by; else the system's."""
_LOCAL: Final = ("localhost", "127.0.0.1", "::1")


def credentials_help(token: str = TOKEN) -> str:
    """Return where credentials come from, for the help of an option. token: its variable."""
    return (
        f"a token is taken from {token}, or a user from {USER} and {PASSWORD}; for https:// the"
        f" file of a CA from {CA}"
    )


@contextmanager
def opened(at: str, path: str, timeout_s: float) -> Iterator[HTTPResponse]:
    """Ask for a page, and yield the response.

    at: URL that the page is below. path: with its query, and without a slash at the beginning.
    timeout_s: longest wait for the connection, and for each piece of the response.
    Credentials and the file of a CA are taken from the environment; see `TOKEN`, `USER` and `CA`.
    Raises CommandFailedError, which names `at` or says what the server said.
    """
    with sent(at, Request(f"{at.rstrip('/')}/{path}"), timeout_s) as response:  # noqa: S310 - see sent
        yield response


@contextmanager
def sent(at: str, request: Request, timeout_s: float, token: str = TOKEN) -> Iterator[HTTPResponse]:
    """Send a request with the credentials of the environment, and yield the response.

    token: variable with the token. The others, and errors, as `opened`.
    """
    if not at.startswith(("http://", "https://")):
        raise CommandFailedError(f"{at}: want an address that begins with http:// or https://")
    for name, value in _credentials(at, token).items():
        request.add_header(name, value)
    opener = _opener(at)
    try:
        with opener.open(request, timeout=timeout_s) as response:
            yield response
    except HTTPError as error:
        raise CommandFailedError(_message_of(error), FAILED) from error
    except (URLError, HTTPException, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", None) or error
        hint = "is the broker running?"
        if isinstance(reason, ssl.SSLCertVerificationError):
            reason, hint = reason.verify_message, f"name the file of its CA in {CA}"
        raise CommandFailedError(f"{at}: {reason}; {hint}", FAILED) from error


class _NoRedirects(HTTPRedirectHandler):
    """Follows no redirect: it would take the credentials to another server."""

    def redirect_request(self, *_: object) -> None:
        return None


def _opener(at: str) -> OpenerDirector:
    """Return what opens pages of a server. Raises CommandFailedError for a CA that is none."""
    handlers = [ProxyHandler({}), _NoRedirects()]
    if at.startswith("https://"):
        path = os.environ.get(CA) or None
        try:
            handlers.append(HTTPSHandler(context=ssl.create_default_context(cafile=path)))
        except (OSError, ssl.SSLError) as error:
            raise CommandFailedError(f"{CA}={path}: {error}") from error
    return build_opener(*handlers)


def _credentials(at: str, variable: str) -> dict[str, str]:
    """Return the header of the environment's credentials. Raises CommandFailedError.

    A password goes over TLS, or stays on this machine.
    """
    token, user = os.environ.get(variable), os.environ.get(USER)
    if token:
        return {"Authorization": f"Bearer {token}"}
    if not user:
        return {}
    if at.startswith("http://") and urlsplit(at).hostname not in _LOCAL:
        raise CommandFailedError(f"{at}: a password needs https://, as {USER} is set")
    pair = f"{user}:{os.environ.get(PASSWORD, '')}".encode()
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
