"""Protocols of a World: clock, network, disk and child processes.

Errors are the system's: a call that would wait raises BlockingIOError, a dead peer ConnectionError,
a disk OSError with its errno. So the hot calls of the real world are bound C methods, which cost
nothing more. Sync calls take effect at once or not at all and are no checkpoint. Async calls may
wait and are always a checkpoint. Buffers are views of single bytes. A call on what is closed raises
OSError(EBADF), as the number may belong to something else by then; a wait ClosedResourceError.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Final, NamedTuple, Protocol

from trio_kafka.model import Endpoint

Buffer = bytes | bytearray | memoryview

# epoll's bits as plain ints: `mask & READ` on an IntFlag costs ten times as much.
READ: Final = 0x1
WRITE: Final = 0x4
BROKEN: Final = 0x18
PEER_DONE: Final = 0x2000
CLOSED: Final = -2  # key of what is closed: no number of another file, and none of memory
LARGE_RANGE: Final = 64 << 10  # bytes of a file from which a send looks whether they are cached
PIECE: Final = 128 << 10  # bytes: 0.05 ms, or 0.3 in memory that a host has yet to provide


def check_name(name: str) -> str:
    """Return `name`. Raises ValueError if it would lead to another directory."""
    if name in {"", ".", ".."} or "/" in name or "\0" in name:
        raise ValueError(f"file name {name!r}: want one without slashes")
    return name


class RangeCutError(Exception):
    """A truncation removed bytes of a lease: reset the connection instead of closing it."""


class ColdRangeError(Exception):
    """The next bytes of a lease are not in memory: read them by `Lease.read`, and send those."""


class Clock(Protocol):
    """Readings besides `trio.current_time()`, which is monotonic and moved by `advance`."""

    @property
    def wall(self) -> Callable[[], float]:
        """Returns seconds since 1970, moved by `advance`; may step back."""

    @property
    def elapsed(self) -> Callable[[], float]:
        """Returns seconds for stamps and loop budgets; never moved by `advance`."""

    @property
    def waits(self) -> Callable[[], int] | None:
        """Returns how often the calling thread has waited for a disk, a lock or an event.

        Losing the processor is no wait. None: time passes only in waits.
        """

    def wall_of(self, timestamp_ms: int, place: Hashable, offset: int) -> int:
        """Return what `wall` showed, in ms, at a moment of the clock of a record's writer.

        place, offset: where the record is. The moment itself, unless `advance` has moved this clock
        before the record was written, and not the writer's.
        """


class Socket(Protocol):
    """A connected non-blocking stream. key: identifies it in selectors; CLOSED after `close`."""

    @property
    def key(self) -> int: ...
    @property
    def peer(self) -> Endpoint: ...
    @property
    def local(self) -> Endpoint: ...
    @property
    def receive_into(self) -> Callable[[bytearray | memoryview], int]:
        """Returns the number of bytes received; 0: end of the stream.

        Raises BlockingIOError, ConnectionError.
        """

    @property
    def send(self) -> Callable[[Buffer], int]:
        """Returns the number of bytes taken; a WRITE edge follows if there were more.

        Raises BlockingIOError, ConnectionError.
        """

    @property
    def send_more(self) -> Callable[[Buffer], int]:
        """Send when more follows at once: the kernel may hold the bytes back (MSG_MORE)."""

    def send_file_range(self, lease: "Lease", start: int, limit: int) -> int:
        """Send up to `limit` bytes of the leased file from position `start`; at least 1.

        Raises RangeCutError if the range was cut, ColdRangeError if it would wait for the disk: a
        socket with TLS looks at each byte, another one at the last of many, see `Lease.is_cold`.
        Only for bytes below the high watermark: the socket refers to pages of the file, which
        change if the file is cut and written again.
        """

    @property
    def beneath(self) -> "Socket":
        """Socket of the world: itself, or what carries the bytes of a socket with TLS."""

    @property
    def more(self) -> bool:
        """True if the last `receive_into` left bytes although the buffer had room.

        A socket with TLS bounds what it decrypts in one turn, and no edge tells of the rest.
        """

    @property
    def kept(self) -> int:
        """Bytes between the kernel and the caller; 0 without TLS."""

    def make_room(self, *, sending: int = 0, receiving: int = 0) -> None:
        """Set the sizes of the buffers, as far as the system allows; 0: unchanged.

        The receive buffer of an accepted socket is bounded by `largest_buffer` of its listener.
        """

    def transferred(self) -> tuple[int, int]:
        """Return the bytes that have arrived, and those sent that the peer has, since the start.

        The kernel counts them: a call of 2 us, and nothing for those that do not ask.
        """

    def shutdown_write(self) -> None: ...
    def close(self) -> None:
        """Close. Idempotent. With unread bytes a reset: shut down and read to the end first.

        Tasks that wait get ClosedResourceError, later calls OSError(EBADF).
        """

    def abort(self) -> None:
        """Close by a reset; unsent bytes are discarded."""

    async def wait_readable(self) -> None:
        """Wait, level-triggered: for connections with their own task."""

    async def wait_writable(self) -> None: ...


class Selector(Protocol):
    """Edge-triggered readiness of many sockets; READ, WRITE and PEER_DONE are registered once.

    After an edge, read until BlockingIOError or a short read; after PEER_DONE or BROKEN until 0 or
    an error, as no further edge follows. Registering reports the present state once. After a short
    send a WRITE edge follows when the peer has made room.
    """

    @property
    def poll(self) -> Callable[[float, int], list[tuple[int, int]]]:
        """`poll(timeout_s, limit)` returns [(key, mask)], one per key; `ring` has key `bell`.

        timeout_s: use 0: anything else blocks the thread. A simulated selector never waits.
        """

    @property
    def bell(self) -> int:
        """Key of the descriptor of `ring`; `poll` reports it once for all calls since the last."""

    def ring(self) -> None:
        """Make `wait` return, also one that begins later. Costs a system call.

        Does nothing on a closed selector: its descriptor may be the number of another file.
        """

    def register(self, socket: Socket) -> None: ...
    def unregister(self, socket: Socket) -> None:
        """Unregister a socket; do it before `close`, as keys are reused."""

    async def wait(self) -> None:
        """Wait until `poll` may report something; may be spurious. One task at a time.

        Always a checkpoint: poll first. Raises ClosedResourceError if closed meanwhile.
        """

    def close(self) -> None: ...


class Listener(Protocol):
    """A bound socket. key: its descriptor, in the real world only; CLOSED once it is closed."""

    @property
    def key(self) -> int: ...
    @property
    def address(self) -> Endpoint: ...
    async def accept(self) -> Socket:
        """Return the next connection, with TCP_NODELAY and SO_KEEPALIVE.

        Raises OSError(EMFILE) and ConnectionAbortedError; after EMFILE the connection still waits,
        so do not retry at once. Raises ClosedResourceError if closed meanwhile.
        """

    def accept_nowait(self) -> Socket:
        """Return the next connection. Raises BlockingIOError, and as `accept`."""

    def close(self) -> None: ...


class Network(Protocol):
    """Sockets of IPv4 and IPv6. Names are resolved in a thread, addresses at once.

    send_buffer, receive_buffer: bytes; None: the system's choice. Accepted sockets inherit them.
    largest_buffer: bound of `Socket.make_room`; 0: buffers do not grow.
    """

    async def host_name(self) -> str:
        """Return the name of this machine, one that others can resolve if possible."""

    async def addresses(self, host: str) -> list[str]:
        """Return all addresses of a name, at least one. Raises OSError."""

    async def canonical_name(self, address: str) -> str:
        """Return the name of an address; the address itself if it has none."""

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

        Raises OSError, such as EADDRINUSE.
        """

    async def connect(
        self,
        host: str,
        port: int,
        *,
        send_buffer: int | None = None,
        receive_buffer: int | None = None,
    ) -> Socket:
        """Connect to the first address of the name that works. Raises the last address's error."""


class Child(Protocol):
    """A running program, with all processes that it starts.

    None of them outlives this process, not even after `kill -9`. Standard output and error are one
    stream; the program blocks when 64 KiB of it are not received.
    """

    @property
    def pid(self) -> int: ...
    async def receive(self) -> bytes:
        """Return output, b"" at the end: all processes have ended or closed it. One reader."""

    async def wait(self) -> int:
        """Wait for its end, and that of its processes; return the exit status.

        Negative: the signal that ended it. 127: it could not be run; the output says why.
        """

    def terminate(self) -> None:
        """Send SIGTERM to all processes of its group. Idempotent, also after its end."""

    def kill(self) -> None:
        """Kill all its processes, also those that left its group. Idempotent.

        A second call kills by force what the first one has not ended.
        """

    def close(self) -> None:
        """Kill it and close its output. Idempotent."""


class Lease(Protocol):
    """Keeps bytes of a file readable, and its descriptor open, until released.

    key: descriptor; -1: the file is in memory, see `content`; CLOSED once it is
        released: sending or reading it then is OSError(EBADF), and never another file's bytes.
    """

    @property
    def key(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def cut(self) -> bool:
        """True if a truncation reached below `end`, even if the file has grown since."""

    async def read(self, start: int, limit: int) -> bytes:
        """Read up to `limit` bytes from `start` in a thread. Raises RangeCutError, OSError.

        The lease may be released meanwhile.
        """

    def try_read(self, start: int, buffer: bytearray | memoryview) -> int:
        """Return how many bytes were read without waiting for the disk; 0: the end.

        Raises BlockingIOError if they are not cached, OSError. See `File.try_read`.
        """

    def is_cold(self, start: int, limit: int) -> bool:
        """Return whether the last of up to `limit` bytes from `start` is not cached.

        A range is read in order, so the last byte is the one that the system may not have read
        ahead. Asking has the system read that byte. False for less than LARGE_RANGE, and where the
        system does not tell. A look holds while half a MiB of what it looked at lies ahead. Costs
        1.5 us.
        """

    def content(self, start: int, limit: int) -> bytes:
        """Return up to `limit` bytes of the range at once, as `Socket.send_file_range` reads them.

        Empty if another program has cut the file. Blocks on bytes that are not cached. OSError.
        """

    def release(self) -> None:
        """Release. Idempotent. The last release of a closed file closes its descriptor."""


class File(Protocol):
    """A file with one owner, which alone appends and truncates, so `size` needs no call.

    After a failed sync, or an append that could not be undone, every call raises OSError. So does
    a call on a closed file.
    """

    @property
    def size(self) -> int: ...
    @property
    def append(self) -> Callable[[Sequence[Buffer]], int]:
        """Appends buffers, whole or not at all, and returns the position of the first byte.

        May block on a slow disk: measure it.
        """

    @property
    def try_read(self) -> Callable[[int, bytearray | memoryview], int]:
        """`try_read(position, buffer)` returns bytes read without waiting for the disk.

        Raises BlockingIOError if they are not cached. A short result is the end of the file, or
        the rest is not cached: check `position + n == size`. On file systems without RWF_NOWAIT
        (tmpfs) the last 64 MiB written through one `World.directory` count as cached.
        """

    def truncate(self, size: int) -> None:
        """Cut the file to `size` bytes, at most 16 MiB in one call: a MiB takes 20 µs. OSError.

        Reads of a lease that ends beyond `size` raise RangeCutError from now on.
        """

    def reserve(self, size: int) -> None:
        """Extend the file with zeros for other readers. Raises OSError.

        `size` and reads of the owner are not affected. `trim`, `truncate` and `close` undo it.
        """

    def trim(self) -> None:
        """Undo `reserve`."""

    def measure(self) -> int:
        """Ask the system for the size of a file without further appends. Raises OSError.

        `size` is lowered to the result, as another program may have cut the file.
        """

    def modified_ms(self) -> int:
        """Return the wall time (ms) of the last write or cut. Raises OSError.

        On a real disk it is the machine's time, which `advance` does not move.
        """

    def set_modified_ms(self, time_ms: int) -> None:
        """Set what `modified_ms` returns until the next write. Raises OSError."""

    def lease(self, end: int) -> Lease: ...
    @property
    def leased(self) -> bool:
        """True while a lease is held or a thread reads."""

    def close(self) -> None:
        """Close. Idempotent; the descriptor is closed with the last lease."""

    async def read(self, position: int, buffer: bytearray | memoryview) -> int:
        """Read in a thread; short only at the end of the file. Not cancelled once it has begun."""

    def append_in_pieces(self, data: Buffer, between: Callable[[], None]) -> int:
        """Append pieces of PIECE bytes, and call `between` between two of them.

        `size` grows after the last. If `between` raises, or closes the file, nothing is appended.
        """

    async def append_slow(self, buffers: Sequence[Buffer]) -> int:
        """Append in a thread, shielded. One writer."""

    async def sync(self) -> None:
        """Make all appends before the call durable, in a thread, shielded. Never retried."""


class Space(NamedTuple):
    """Bytes of a file system: all of them, and those that this process may still write."""

    total: int
    usable: int


class Directory(Protocol):
    """A directory. Its sync makes names durable, a file's sync bytes, in no order.

    Calls raise ValueError for the names "", ".", "..", and for names with a slash.
    """

    path: str

    def names(self) -> list[str]:
        """Return the names, sorted."""

    def exists(self, name: str) -> bool: ...
    def create(self, name: str) -> File:
        """Create an empty file. Raises FileExistsError."""

    def open(self, name: str) -> File:
        """Open a file. Raises FileNotFoundError; OSError if the name is no regular file's."""

    def rename(self, old: str, new: str) -> None:
        """Rename atomically, within this directory; replaces a file. Open files follow."""

    def move(self, inside: "Directory", new: str) -> None:
        """Rename a directory inside this one atomically; `inside` follows, as do its open files."""

    def directory(self, name: str, *, create: bool = False, private: bool = False) -> "Directory":
        """Open a directory inside. create: make it if it is missing.

        private: only the user of this process may enter the one that is made: it holds secrets.
        Raises FileNotFoundError, NotADirectoryError.
        """

    def lock(self, name: str) -> Callable[[], None]:
        """Take an exclusive lock (flock); return a function that releases it, idempotent.

        Raises BlockingIOError if it is taken.
        """

    def resize(self, threads: int) -> None:
        """Set the number of threads for all that was opened through one `World.directory`."""

    async def space(self) -> Space:
        """Return the space of the file system, in a thread, which cancelling abandons. OSError."""

    async def names_slow(self) -> list[str]:
        """Return the names, in a thread: large or uncached directories take long."""

    async def create_slow(self, name: str, content: Buffer = b"", *, replace: bool = False) -> File:
        """Create a file with content, in a thread, shielded.

        replace: a file of that name is truncated first; it must have no owner. An error may leave
        the file with a part of the content.
        """

    async def unlink(self, name: str) -> None:
        """Remove a file or an empty directory, in a thread: large files take long.

        Not cancelled once it has begun. Open files and leases stay valid.
        """

    async def sync(self) -> None:
        """Make the names before the call durable, in a thread, shielded."""

    async def sync_all(self, inside: "Sequence[Directory]") -> bool:
        """Make all durable that was written here and in directories inside, in closed files too.

        False: the system cannot do so; sync one by one. Costs one wait for the disk, and that for
        what others have written to the filesystem. Shielded. An OSError leaves open what is
        durable, and may be about a file of others.
        """

    async def sync_together(self, name: str, inside: "Sequence[tuple[Directory, bytes]]") -> None:
        """Write a file `name` into directories inside, and make all durable.

        inside: directories with the content of the file; b"": the file exists already.
        Order: files, names in the directories, names here. Runs in one thread, shielded. Costs much
        less than one by one, as file systems write one journal. Files with equal content may be one
        file with a name in each directory: replace such a file instead of writing to it.
        An OSError leaves open which files are durable; calling again is safe. ENOENT: a directory
        was renamed meanwhile, and no sync has failed.
        """
