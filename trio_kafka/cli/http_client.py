"""HTTP client of commands. The broker is usually on this machine, so no proxy is used."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse
from typing import Final
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.strict_json import parse_json

ADMIN_ADDRESS: Final = "TRIO_KAFKA_ADMIN"
TOKEN: Final = "TRIO_KAFKA_HTTP_TOKEN"  # noqa: S105 - the name of a variable


@contextmanager
def opened(at: str, path: str, timeout_s: float) -> Iterator[HTTPResponse]:
    """Ask for a page, and yield the response.

    at: URL that the page is below. path: with its query, and without a slash at the beginning.
    timeout_s: longest wait for the connection, and for each piece of the response.
    A token is taken from TRIO_KAFKA_HTTP_TOKEN. Raises CommandFailedError, which names `at` or says
    what the server said.
    """
    if not at.startswith("http://"):
        raise CommandFailedError(f"{at}: want an address that begins with http://")
    token = os.environ.get(TOKEN)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = Request(f"{at.rstrip('/')}/{path}", headers=headers)  # noqa: S310 - checked above
    opener = build_opener(ProxyHandler({}))
    try:
        with opener.open(request, timeout=timeout_s) as response:
            yield response
    except HTTPError as error:
        raise CommandFailedError(_message_of(error), FAILED) from error
    except (URLError, HTTPException, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", None) or error
        raise CommandFailedError(f"{at}: {reason}; is the broker running?", FAILED) from error


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
