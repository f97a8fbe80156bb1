"""HTTP client of the downloads. The broker is usually on this machine, so no proxy is used."""

import os
from argparse import ArgumentParser
from http.client import HTTPException
from pathlib import Path
from shutil import copyfileobj
from typing import Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, Request, build_opener

from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.strict_json import parse_json

ADDRESS: Final = "TRIO_KAFKA_ADMIN"
TOKEN: Final = "TRIO_KAFKA_HTTP_TOKEN"  # noqa: S105 - the name of a variable
_TIMEOUT_S: Final = 30.0  # between two pieces, beside the time of the recording
_NO_ADDRESS: Final = (
    f"no address: give --at URL or set {ADDRESS} to the address of the admin UI that"
    " `trio-kafka start --embedded` prints"
)


def declare_target(parser: ArgumentParser, *, file_name: str) -> None:
    """Declare the options `--at` and `--output`."""
    parser.add_argument(
        "--at",
        default=os.environ.get(ADDRESS),
        metavar="URL",
        help=f"address of the admin UI (default: {ADDRESS}); a token is taken from {TOKEN}",
    )
    parser.add_argument(
        "--output",
        "-o",
        default=file_name,
        metavar="FILE",
        help=f"where to write it (default: {file_name}); an existing file is replaced",
    )


def fetch(
    at: str | None, download: str, query: dict[str, int], output: str, *, more_s: float = 0.0
) -> int:
    """Write a download to a file, which appears when it is whole. Return its size in bytes.

    more_s: time that the broker takes before it answers. Raises CommandFailedError.
    """
    if not at:
        raise CommandFailedError(_NO_ADDRESS)
    if not at.startswith("http://"):
        raise CommandFailedError(f"{at}: want an address that begins with http://")
    url = f"{at.rstrip('/')}/api/download/{download}?{urlencode(query)}"
    token = os.environ.get(TOKEN)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    part = Path(f"{output}.part")
    try:
        request = Request(url, headers=headers)  # noqa: S310 - checked above
        opener = build_opener(ProxyHandler({}))
        with opener.open(request, timeout=_TIMEOUT_S + more_s) as response:
            if not response.headers.get("Content-Disposition", "").startswith("attachment"):
                raise CommandFailedError(f"{at}: no admin UI answers there", FAILED)
            with part.open("wb") as file:
                copyfileobj(response, file)
                size = file.tell()
        part.replace(output)
    except HTTPError as error:
        raise CommandFailedError(_message_of(error), FAILED) from error
    except (URLError, HTTPException, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", None) or error
        raise CommandFailedError(f"{at}: {reason}; is the broker running?", FAILED) from error
    except OSError as error:
        raise CommandFailedError(f"{output}: {error.strerror or error}", FAILED) from error
    finally:
        part.unlink(missing_ok=True)
    return size


def _message_of(error: HTTPError) -> str:
    try:
        return str(parse_json(error.read())["message"])
    except (ValueError, KeyError, TypeError, OSError):
        return f"status {error.code} {error.reason}"
