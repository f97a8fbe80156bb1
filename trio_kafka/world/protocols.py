"""What a World is made of: clock, network and disk.

Errors are the system's own: a call that would wait raises BlockingIOError, a dead peer
ConnectionError, a disk OSError with its errno. So the hot calls of the real world are bound C
methods, and the seam costs next to nothing. Sync calls take effect at once or not at all and are no
checkpoint; async ones may wait and always are one. Buffers are views of single bytes.
"""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from trio_kafka.model import Endpoint

Buffer = bytes | bytearray | memoryview

# epoll's bits as plain ints: `mask & READ` on an IntFlag costs ten times as much.
READ: Final = 0x1
WRITE: Final = 0x4
BROKEN: Final = 0x18
PEER_DONE: Final = 0x2000
PIECE: Final = 128 << 10  # bytes: 0.05 ms, or 0.3 in memory that a host has yet to give


class RangeCutError(Exception):
    """A truncation took bytes that a lease had promised: reset the connection, do not close it."""


class Clock(Protocol):
    """Two readings beside `trio.current_time()`, which is monotonic and moves with `advance`."""

    @property
    def wall(self) -> Callable[[], float]:
        """Seconds since 1970, moved by `advance`; the machine's clock may step back."""

    @property
    def elapsed(self) -> Callable[[], float]:
        """Seconds for stamps and turn budgets; never moved by `advance`."""

    @property
    def waits(self) -> Callable[[], int] | None:
        """How often the calling thread has waited in the kernel, for a disk, a lock or an event. To
        lose the processor is no wait. None: time passes only where somebody waits.
        """


class Socket(Protocol):
    """A connected stream that never blocks. `key` names it in selectors until it is closed."""

    @property
    def key(self) -> int: ...
    @property
    def peer(self) -> Endpoint: ...
    @property
    def local(self) -> Endpoint: ...
    @property
    def receive_into(self) -> Callable[[bytearray | memoryview], int]:
        """Bytes received; 0 is the end of the stream. BlockingIOError, ConnectionError."""

    @property
    def send(self) -> Callable[[Buffer], int]:
        """Bytes taken, maybe fewer than offered: a WRITE edge follows.

        BlockingIOError, ConnectionError.
        """

    @property
    def send_more(self) -> Callable[[Buffer], int]:
        """As `send`, where more follows at once: the kernel may hold the bytes back (MSG_MORE)."""

    def send_file_range(self, lease: "Lease", start: int, limit: int) -> int:
        """Send up to `limit` bytes of the leased file from position `start`. Never 0.

        Raises RangeCutError when the range is not whole any more. Only for bytes below the high
        watermark: what `sendfile` has taken are the file's pages and change when the file is cut
        and written again.
        """

    def make_room(self, *, sending: int = 0, receiving: int = 0) -> None:
        """Let the buffers hold so many bytes, as far as the system allows; 0 leaves one as it is.
        What a listener's sockets may receive is bounded by its `largest_buffer`.
        """

    def shutdown_write(self) -> None: ...
    def close(self) -> None:
        """Idempotent. A reset if bytes are unread: shut down and read to the end first.

        Waiters get ClosedResourceError, later calls OSError(EBADF).
        """

    def abort(self) -> None:
        """Close by a reset; what was sent and not taken yet is dropped."""

    async def wait_readable(self) -> None:
        """Level-triggered, for links that have a task of their own."""

    async def wait_writable(self) -> None: ...


class Selector(Protocol):
    """Edge-triggered readiness of many sockets; READ, WRITE and PEER_DONE are registered once.

    An edge says "try again": drain until BlockingIOError or a short read, but after PEER_DONE or
    BROKEN read until 0 or an error, as no further edge comes. Registering reports the present state
    once. A short send is followed by a WRITE edge once the peer has made room.
    """

    @property
    def poll(self) -> Callable[[float, int], list[tuple[int, int]]]:
        """`poll(timeout_s, limit)` gives [(key, mask)], one per key. The bell has key `bell`.

        timeout_s: 0 nearly always; else the thread stands still for so long at most, in ms. A
        simulated selector never waits.
        """

    @property
    def bell(self) -> int:
        """The key of the bell; `poll` reports it once for all rings since the last report."""

    def ring(self) -> None:
        """Let `wait` return, also when it has not begun yet; costs a system call."""

    def register(self, socket: Socket) -> None: ...
    def unregister(self, socket: Socket) -> None:
        """Before `close`: keys are used again."""

    async def wait(self) -> None:
        """Until `poll` may have something; may be spurious; one waiter.

        Always a checkpoint (5 µs): poll first. ClosedResourceError when closed meanwhile.
        """

    def close(self) -> None: ...


class Listener(Protocol):
    """A bound socket. `key`: its descriptor, real world only."""

    @property
    def key(self) -> int: ...
    @property
    def address(self) -> Endpoint: ...
    async def accept(self) -> Socket:
        """The next connection, without delay and kept alive.

        OSError(EMFILE) and ConnectionAbortedError come through; after EMFILE the connection still
        waits, so calling again at once would spin. ClosedResourceError when closed meanwhile.
        """

    def accept_nowait(self) -> Socket:
        """As `accept`, or BlockingIOError."""

    def close(self) -> None: ...


class Network(Protocol):
    """Where sockets come from. Names are resolved in a thread, addresses at once; IPv4 and IPv6.

    `send_buffer`, `receive_buffer`: bytes, None: the system's; accepted sockets inherit them.
    `largest_buffer`: what `Socket.make_room` may ask for; 0: nothing beyond them.
    """

    async def host_name(self) -> str:
        """What this machine calls itself; a name that others can resolve, if there is one."""

    async def addresses(self, host: str) -> list[str]:
        """All addresses of a name, at least one. OSError."""

    def selector(self) -> Selector: ...
    async def listen(
        self,
        host: str,
        port: int,
        backlog: int = 128,
        *,
        send_buffer: int | None = None,
        receive_buffer: int | None = None,
        largest_buffer: int = 0,
    ) -> Listener:
        """Bind and listen; "", "0.0.0.0" and "::" are all interfaces of both families.

        OSError(EADDRINUSE) and others come through.
        """

    async def connect(
        self,
        host: str,
        port: int,
        *,
        send_buffer: int | None = None,
        receive_buffer: int | None = None,
    ) -> Socket:
        """Each address of the name in turn; the last one's error comes through."""


class Child(Protocol):
    """A program that runs as a process of its own, with all processes that it starts.

    None of them outlives this process, not even after `kill -9` of it: their output, standard and
    error, is one stream of at most 64 KiB that waits to be received.
    """

    @property
    def pid(self) -> int: ...
    async def receive(self) -> bytes:
        """Return what it has written since, b"" at the end: then all its processes have ended or
        closed their output. One reader.
        """

    async def wait(self) -> int:
        """Return its exit status; negative: the signal that ended it. Its processes are gone then.

        127: it could not be run; its output says why.
        """

    def terminate(self) -> None:
        """Send SIGTERM to all processes of its group. Idempotent, also after its end."""

    def kill(self) -> None:
        """End all its processes at once, also those that have left its group. Idempotent; a second
        call kills by force what a first one has not ended.
        """

    def close(self) -> None:
        """Kill it and receive no more. Idempotent."""


class Lease(Protocol):
    """Keeps a file's bytes readable and its descriptor open until released."""

    @property
    def key(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def cut(self) -> bool:
        """A truncation reached below `end`, even if the file has grown again since."""

    async def read(self, start: int, limit: int) -> bytes:
        """Up to `limit` bytes from position `start`, read in a thread. RangeCutError; OSError."""

    def release(self) -> None:
        """Idempotent. The last release of a closed file closes its descriptor."""


class File(Protocol):
    """A file with one owner: only the owner appends and truncates: `size` is known without a call.

    A failed sync, or an append that could not be taken back, breaks it for good: every later call
    raises OSError. So does one on a closed file.
    """

    @property
    def size(self) -> int: ...
    @property
    def append(self) -> Callable[[Sequence[Buffer]], int]:
        """Position of the first byte. All or nothing in `size`.

        May stall on a slow disk: time it.
        """

    @property
    def try_read(self) -> Callable[[int, bytearray | memoryview], int]:
        """`try_read(position, buffer)` without waiting for the disk: bytes read.

        BlockingIOError: cold. A short result is the end of the file or the beginning of what is
        cold: only `position + n == size` tells. Where the file system cannot tell (tmpfs), the last
        64 MiB that this process has written through one `World.directory` count as warm.
        """

    def truncate(self, size: int) -> None:
        """Cuts leases that end beyond. About 20 µs/MiB: at most 16 MiB a turn, from the end."""

    def reserve(self, size: int) -> None:
        """Let the file be that long for all others; zeros follow what was appended. OSError.

        What its owner knows and reads stays as it is. `trim`, `truncate` and `close` end it.
        """

    def trim(self) -> None:
        """Give back what was reserved and not written."""

    def measure(self) -> int:
        """Ask the system for the size, of a file that has no more appends. OSError.

        A program beside this one may have cut the file: then `size` is lowered to the result.
        """

    def lease(self, end: int) -> Lease: ...
    @property
    def leased(self) -> bool:
        """A lease is held, or a thread reads."""

    def close(self) -> None:
        """Idempotent; the descriptor goes with the last lease."""

    async def read(self, position: int, buffer: bytearray | memoryview) -> int:
        """Read in a thread; short only at the end of the file. Cancelled until it has begun."""

    def append_in_pieces(self, data: Buffer, between: Callable[[], None]) -> int:
        """As `append`, of pieces of PIECE bytes. between: called between two of them; `size` grows
        after the last. What it raises leaves nothing appended, and so does a `close` in it.
        """

    async def append_slow(self, buffers: Sequence[Buffer]) -> int:
        """Append in a thread, shielded: when cancelled it still ends. One writer."""

    async def sync(self) -> None:
        """Make durable what was appended before the call. Shielded, in a thread; never retried."""


class Directory(Protocol):
    """Names are durable after its sync, bytes after the file's: two promises, no order between.

    Names are single: ValueError for "", ".", ".." and what contains a slash.
    """

    @property
    def path(self) -> str: ...
    def names(self) -> list[str]:
        """Sorted."""

    def exists(self, name: str) -> bool: ...
    def create(self, name: str) -> File:
        """A new empty file. FileExistsError."""

    def open(self, name: str) -> File:
        """FileNotFoundError."""

    def rename(self, old: str, new: str) -> None:
        """Atomic; replaces a file. Never across directories. Open files follow."""

    def directory(self, name: str, *, create: bool = False) -> "Directory":
        """A directory inside; `create` makes it where it is missing.

        FileNotFoundError, NotADirectoryError.
        """

    def lock(self, name: str) -> Callable[[], None]:
        """Take an exclusive lock (flock) and return what gives it back, idempotent.

        BlockingIOError: somebody else has it.
        """

    def free_space(self) -> int:
        """Bytes."""

    def resize(self, threads: int) -> None:
        """Let so many threads work at once on all that `World.directory` opened with this one."""

    async def names_slow(self) -> list[str]:
        """As `names`, in a thread: a large directory takes long, one that is not cached longer."""

    async def create_slow(self, name: str, content: Buffer = b"", *, replace: bool = False) -> File:
        """As `create` and `append`, in a thread, shielded: when cancelled it still ends.

        replace: what has the name is cut to nothing first; it must have no owner. An error may
        leave the name with a part of the content.
        """

    async def unlink(self, name: str) -> None:
        """Remove a file or an empty directory, in a thread: large files take long.

        Cancelled until it has begun; open files and leases go on.
        """

    async def sync(self) -> None:
        """Make durable which names there were before the call. Shielded, in a thread."""

    async def sync_together(self, name: str, inside: "Sequence[tuple[Directory, bytes]]") -> None:
        """Put a file `name` into directories in here, each with its content (none: it has it), and
        make durable, in this order: these files, the names inside, the names here.

        In one thread, shielded. Much cheaper than one by one: file systems write one journal, and
        files of one content may be one file, with a name in each directory. Whoever changes one
        puts another one in its place.
        An OSError may be of any of them, and leaves open which are durable; to do it again is safe.
        ENOENT: a directory was renamed before its turn, no sync has failed.
        """
