"""Errors of the start, with advice for the operator."""

import errno
from typing import Final

from trio_kafka.errors import LogDirError

# Advice by errno, where there is one.
_ADVICE: Final = {
    errno.EAGAIN: "stop the broker that uses it",
    errno.EACCES: "give this user the right to write there",
    errno.EPERM: "give this user the right to write there",
    errno.EROFS: "name a directory that can be written to",
    errno.ENOSPC: "make room on the disk",
    errno.EDQUOT: "make room on the disk",
    errno.ENOTDIR: "name a directory",
    errno.EADDRINUSE: "stop what listens there, or change `listeners`",
    errno.EADDRNOTAVAIL: "name an address of this machine in `listeners`",
}


class StartError(Exception):
    """Broker that cannot start as configured; the message names the cause."""


def storage_error(error: LogDirError) -> StartError:
    """Make the error of a directory that cannot be used."""
    return StartError(f"{error}{advice(error.__cause__)}")


def listen_error(error: OSError) -> StartError:
    """Make the error of an address that cannot be bound; `filename` names listener and address."""
    return StartError(f"listener {error.filename}: {error.strerror}{advice(error)}")


def advice(error: BaseException | None) -> str:
    """Return advice about a system error, after a colon; empty if there is none."""
    known = _ADVICE.get(error.errno or 0) if isinstance(error, OSError) else None
    return f": {known}" if known else ""
