"""Why a broker did not start, and what to do about it."""

import errno
from typing import Final

from trio_kafka.errors import LogDirError

# By the system's error: what helps, where that can be said.
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
    """The broker cannot start as it was told to; the message names the culprit."""


def storage_error(error: LogDirError) -> StartError:
    """Why a directory cannot be used."""
    return StartError(f"{error}{advice(error.__cause__)}")


def listen_error(error: OSError) -> StartError:
    """Why an address cannot be bound; `filename` names listener and address."""
    return StartError(f"listener {error.filename}: {error.strerror}{advice(error)}")


def advice(error: BaseException | None) -> str:
    """What to do about an error of the system, with a colon before; nothing where nobody knows."""
    known = _ADVICE.get(error.errno or 0) if isinstance(error, OSError) else None
    return f": {known}" if known else ""
