"""Cold reads: bytes of files that an answer needs and that are not in memory.

A socket sends bytes of a file in the loop: the kernel reads them, or with TLS the socket does.
Bytes that are not in the page cache would stop the loop for as long as the disk takes, so a thread
reads up to a share of them. The answer continues with the first piece of that in memory, and not
with another look at the page cache: it makes progress however soon the system drops the pages
again. The rest of the share is sent as usual. A connection has one piece at most.
"""

from collections.abc import Callable
from typing import NoReturn

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.channels import UNBOUNDED, Channel
from trio_kafka.introspect.tree import Node
from trio_kafka.network.connection import Connection
from trio_kafka.network.outgoing import FILE_SHARE
from trio_kafka.world.protocols import RangeCutError


@define(eq=False)
class ColdReads:
    """Cold reads of one processor, one a connection.

    resume: goes on with the answer of a connection, if it has one. fail: closes a connection whose
        answer cannot be read.
    """

    _node: Node
    _resume: Callable[[Connection], None] = field(kw_only=True)
    _fail: Callable[[Connection, RangeCutError | OSError], None] = field(kw_only=True)
    waiting: Channel[Connection] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.waiting = Channel(UNBOUNDED, self._node, "cold-reads")

    def add(self, connection: Connection) -> None:
        """Read the next bytes of an answer, then go on with it. Once until then."""
        self.waiting.send_nowait(connection)

    async def run(self) -> NoReturn:
        """Read until cancelled. The threads of a directory bound how much is read at a time."""
        async with trio.open_nursery() as nursery:
            while True:
                connection = await self.waiting.receive()
                nursery.start_soon(self._read, connection, name=f"cold-read {connection.peer}")
                await trio.lowlevel.checkpoint()

    async def _read(self, connection: Connection) -> None:
        """Read a piece, unless a WRITE edge has found the bytes in memory meanwhile."""
        out = connection.out
        part = None if out is None else out.next_range
        if out is None or part is None:
            await trio.lowlevel.checkpoint()
        else:
            position = part.position
            try:
                content = await part.lease.read(position, min(part.remaining, FILE_SHARE))
                if not content:  # another program has cut the file
                    raise RangeCutError
            except (RangeCutError, OSError) as error:
                self._fail(connection, error)
                return
            if out.next_range is part and part.position == position:
                out.put_ahead(part, content)
        self._resume(connection)
