"""Secrets for a command: from a file, or from the terminal without an echo.

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
    password = _ask_twice(user) if asks else first_line(file or "-")
    if not password:
        raise CommandFailedError("the password is empty: want at least one character")
    return password


def ask(user: str) -> str:
    """Ask the terminal for a password. Raises CommandFailedError without one."""
    if not sys.stdin.isatty():
        raise CommandFailedError(f"no password of {user}: give --password-file FILE")
    from getpass import getpass  # noqa: PLC0415 - most commands ask for nothing

    return getpass(f"Password of {user}: ")


def _ask_twice(user: str) -> str:
    from getpass import getpass  # noqa: PLC0415 - as above

    password = getpass(f"Password of {user}: ")
    if getpass("Again: ") != password:
        raise CommandFailedError("the two passwords differ")
    return password


def first_line(file: str) -> str:
    """Return the first line of a file, or of the standard input. Raises CommandFailedError."""
    try:
        if file == "-":
            return sys.stdin.readline().rstrip("\r\n")
        with Path(file).open(encoding="utf-8") as lines:
            return lines.readline().rstrip("\r\n")
    except OSError as error:
        raise CommandFailedError(f"{file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CommandFailedError(f"{file}: not a text in utf-8") from error
