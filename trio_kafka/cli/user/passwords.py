"""A password for a command: from a file, or from the terminal without an echo.

It is no argument, as other users of the machine can read the arguments of a process.
"""

import sys
from argparse import ArgumentParser
from pathlib import Path

from trio_kafka.cli import CommandFailedError


def declare_password(parser: ArgumentParser) -> None:
    """Declare `--password-file`."""
    parser.add_argument(
        "--password-file",
        metavar="FILE",
        help="file whose first line is the password; -: standard input (default: ask)",
    )


def read_password(file: str | None, user: str) -> str:
    """Return the password. Raises CommandFailedError."""
    asks = file is None and sys.stdin.isatty()
    password = _ask(user) if asks else _first_line(file or "-")
    if not password:
        raise CommandFailedError("the password is empty: want at least one character")
    return password


def _ask(user: str) -> str:
    from getpass import getpass  # noqa: PLC0415 - most commands ask for nothing

    password = getpass(f"Password of {user}: ")
    if getpass("Again: ") != password:
        raise CommandFailedError("the two passwords differ")
    return password


def _first_line(file: str) -> str:
    try:
        if file == "-":
            return sys.stdin.readline().rstrip("\r\n")
        with Path(file).open(encoding="utf-8") as lines:
            return lines.readline().rstrip("\r\n")
    except OSError as error:
        raise CommandFailedError(f"{file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CommandFailedError(f"{file}: not a text in utf-8") from error
