"""Files that the admin UI serves, as files here."""

from argparse import ArgumentParser
from pathlib import Path
from shutil import copyfileobj
from typing import Final
from urllib.parse import urlencode

from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.cli.http_address import ADMIN_ADDRESS, declare_http
from trio_kafka.cli.http_client import opened

_TIMEOUT_S: Final = 30.0  # between two pieces, beside the time of the recording
_NO_ADDRESS: Final = (
    f"no address: give --at URL or set {ADMIN_ADDRESS} to the address of the admin UI that"
    " `trio-kafka start --embedded` prints"
)


def declare_target(parser: ArgumentParser, *, file_name: str) -> None:
    """Declare the options with an admin UI, and `--output`."""
    declare_http(parser)
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
    part = Path(f"{output}.part")
    try:
        path = f"api/download/{download}?{urlencode(query)}"
        with opened(at, path, _TIMEOUT_S + more_s) as response:
            if not response.headers.get("Content-Disposition", "").startswith("attachment"):
                raise CommandFailedError(f"{at}: no admin UI answers there", FAILED)
            with part.open("wb") as file:
                copyfileobj(response, file)
                size = file.tell()
        part.replace(output)
    except OSError as error:
        raise CommandFailedError(f"{output}: {error.strerror or error}", FAILED) from error
    finally:
        part.unlink(missing_ok=True)
    return size
