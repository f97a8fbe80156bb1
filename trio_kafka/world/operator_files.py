"""Files of the operator on this machine, such as certificates: no data of the broker.

A simulated world reads them too: they are settings, and no part of what a simulation may disturb.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


def read_operator_file(path: str) -> bytes:
    """Return the content of a small file. Blocks. Raises OSError."""
    with open(path, "rb") as file:
        return file.read()


@contextmanager
def secret_file(text: str) -> Iterator[str]:
    """Yield the path of a file that only this process can read, until the block ends.

    The file is in memory where the system has such files (Linux), and touches no disk there.
    """
    if hasattr(os, "memfd_create"):
        with open(os.memfd_create("pem"), "wb") as file:
            file.write(text.encode())
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
    else:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as named:
            named.write(text)
            named.flush()
            yield named.name


def file_stamp(path: str) -> tuple[int, int, int] | None:
    """Return what differs when a file is written or replaced; None: there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
