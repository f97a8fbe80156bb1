"""Options that every command with a broker shares: its address, and how long to wait for it.

Imports nothing of the protocol, so that contributed commands can use it cheaply.
"""

import os
from argparse import ArgumentParser
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from argparse import _ArgumentGroup  # argparse has no public name for this class

DEFAULT_BOOTSTRAP: Final = "127.0.0.1:9092"
VARIABLE: Final = "TRIO_KAFKA_BOOTSTRAP"


def default_bootstrap() -> str:
    """Return the broker's address where no option names one: TRIO_KAFKA_BOOTSTRAP, or loopback."""
    return os.environ.get(VARIABLE) or DEFAULT_BOOTSTRAP


def declare_bootstrap(
    parser: "ArgumentParser | _ArgumentGroup",
    option: str = "--bootstrap",
    *,
    purpose: str = "any listener of the broker",
    keep_none: bool = False,
) -> None:
    """Declare an option with a broker's address.

    parser: a parser, or a group of one. keep_none: leave None where the option is not given, for a
    command that does not always ask a broker; such a command calls `default_bootstrap` itself.
    """
    parser.add_argument(
        option,
        default=None if keep_none else default_bootstrap(),
        metavar="HOST:PORT",
        help=f"{purpose} (default: {VARIABLE}, then {DEFAULT_BOOTSTRAP})",
    )


def declare_timeout(parser: ArgumentParser, timeout_s: float = 5.0) -> None:
    """Declare the option `--timeout`."""
    parser.add_argument(
        "--timeout",
        type=float,
        default=timeout_s,
        metavar="SECONDS",
        help="longest wait for the broker's answer (%(default)g)",
    )


def declare_broker(parser: ArgumentParser, timeout_s: float = 5.0) -> None:
    """Declare the options `--bootstrap` and `--timeout`."""
    declare_bootstrap(parser)
    declare_timeout(parser, timeout_s)
