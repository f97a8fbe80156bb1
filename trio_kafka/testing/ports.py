"""Ports for servers that must be given one."""

import errno
import os
import random
import socket
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import cycle, islice
from typing import Final

LOOPBACK: Final = "127.0.0.1"
# Below what systems give to outgoing connections and to servers that ask for any port (32768 and
# above on Linux): one of those could take the port between our look and the server's start.
_PORTS: Final = range(10240, 32768)
_BLOCK: Final = 256
# Descriptors of sockets that claim a block of ports; they are open until the process ends.
CLAIMS: Final[set[int]] = set()


def unused_port() -> int:
    """Return a port of loopback on which nothing listens. OSError: all are taken.

    No other process that calls this function gets it, and this one not soon again.
    """
    for port in islice(_ports_of(os.getpid()), _BLOCK):
        with socket.socket() as probe, suppress(OSError):
            probe.bind((LOOPBACK, port))
            return port
    raise OSError(errno.EADDRINUSE, "all ports of this process are taken")


@cache
def _ports_of(process: int) -> Iterator[int]:  # noqa: ARG001 - a key of the cache: forks differ
    """Return the ports of a block, over and over; `process` has the block to itself until it ends.

    OSError: all blocks are taken.
    """
    blocks = range(_PORTS.start, _PORTS.stop, _BLOCK)
    # Not by the module's functions: processes of one test run give them the same seed.
    for first in random.SystemRandom().sample(blocks, len(blocks)):
        claim = socket.socket()
        try:
            claim.bind((LOOPBACK, first))
        except OSError:
            claim.close()
        else:
            CLAIMS.add(claim.detach())
            return cycle(range(first + 1, first + _BLOCK))
    raise OSError(errno.EADDRINUSE, "all blocks of ports are taken")
