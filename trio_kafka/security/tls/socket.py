"""A socket with TLS over a socket of the world, with the same calls.

Theory of operation. OpenSSL works on memory: ciphertext that has arrived is written to one BIO,
ciphertext to send is read from another. So the same code serves epoll, a task and a simulated
network, and nothing waits within.

Callers infer two things from numbers, and TLS must keep both true. A short receive means that
nothing is left: `receive_into` goes on until the buffer is full, or no ciphertext is there. It
stops at a bound, and where ciphertext holds little data, and says so by `more`: records of one byte
and changes of keys cost 1 to 15 us each, and a client may send no end of them. Bytes that `send`
has taken have left the process: while ciphertext waits here, `send` reports one byte less than it
has encrypted. The caller offers that byte again when the socket is writable, and it is not
encrypted a second time.

The end of the stream is kept from OpenSSL, which encrypts nothing after one without a close_notify:
a client that shuts its side down may still wait for its last answers.

Memory: the two BIOs, whose sizes a piece bounds, and OpenSSL's own. Renegotiation is refused by the
context.
"""

import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from trio_kafka.model import Endpoint
from trio_kafka.security.tls.errors import TlsError
from trio_kafka.security.tls.failures import tls_error
from trio_kafka.security.tls.suites import java_name
from trio_kafka.world.protocols import Buffer, ColdRangeError, Lease, RangeCutError, Socket

_PIECE: Final = 64 << 10  # bytes between two calls of the socket: a BIO keeps its largest size
_FILE_PIECE: Final = 128 << 10
_MOST: Final = 256 << 10  # bytes of one receive: 0.2 ms
_TAKEN: Final = 32 << 10  # ciphertext that OpenSSL gets at once: it reads all changes of keys in it
_OVERHEAD: Final = 20 << 10  # ciphertext of one receive beyond its data: more than one record
_SNIFFED: Final = 8  # first bytes, which tell a peer without TLS


def new_arrival_buffer() -> memoryview:
    """Return a buffer through which ciphertext and bytes of files go; nothing stays in it."""
    return memoryview(bytearray(_FILE_PIECE))


class TlsSocket:
    """See `protocols.Socket`. Owns `beneath`. Call `handshake` first, until it returns.

    is_open: the handshake is done.
    """

    __slots__ = (
        "_arrived",
        "_ended",
        "_first",
        "_in",
        "_out",
        "_owed",
        "_scratch",
        "_tls",
        "_unsent",
        "beneath",
        "is_open",
        "more",
    )

    def __init__(
        self,
        beneath: Socket,
        context: ssl.SSLContext,
        *,
        arrived: memoryview,
        is_server: bool = False,
        host: str | None = None,
    ) -> None:
        """Make a socket. host: name of the server in its certificate; None: for a server.

        arrived: from `new_arrival_buffer`; the sockets of a loop share it.
        """
        self.beneath = beneath
        self._arrived, self._scratch = arrived[:_PIECE], arrived
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(
            self._in, self._out, server_side=is_server, server_hostname=host
        )
        self._unsent: memoryview | None = None  # ciphertext that `beneath` did not take
        self._owed = False  # the first byte of the next send is encrypted already
        self._ended = False  # no more bytes will arrive
        self._first: bytes | None = b""  # of the peer, until the handshake is done
        self.is_open = False
        self.more = False

    @property
    def key(self) -> int:
        return self.beneath.key

    @property
    def peer(self) -> Endpoint:
        return self.beneath.peer

    @property
    def local(self) -> Endpoint:
        return self.beneath.local

    @property
    def kept(self) -> int:
        unsent = 0 if self._unsent is None else len(self._unsent)
        return self._in.pending + self._out.pending + unsent

    @property
    def session(self) -> str:
        """Version and cipher suite, after the handshake."""
        cipher = self._tls.cipher()
        return f"{self._tls.version()} {cipher[0] if cipher else ''}"

    @property
    def suite(self) -> tuple[str, str] | None:
        """Cipher suite by its standard name and version, such as TLSv1.3; None: not agreed yet."""
        cipher, version = self._tls.cipher(), self._tls.version()
        return None if cipher is None or version is None else (java_name(cipher[0]), version)

    @property
    def peer_certificate(self) -> bytes | None:
        """Certificate of the peer in DER; None: it has sent none, or was not asked for one."""
        return self._tls.getpeercert(binary_form=True)

    @property
    def is_silent(self) -> bool:
        """True if the peer has not sent a byte."""
        return self._first == b""

    @property
    def is_blocked(self) -> bool:
        """True while ciphertext waits for room in the kernel."""
        return self._unsent is not None

    def handshake(self) -> None:
        """Go on with the handshake; at most one step of it is expensive.

        Raises BlockingIOError until it is done: wait until the socket is writable if `is_blocked`,
        else readable. Raises TlsError, after its alert was sent as far as possible; OSError.
        """
        has_filled = False  # a step is bounded: a message may come in records of one byte
        while not self.is_open:
            if not self._flush():
                raise BlockingIOError
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                if not self._give(self.beneath.send) or has_filled or not self._fill():
                    raise BlockingIOError from None
                has_filled = True
                if self._ended:  # OpenSSL has to fail
                    self._in.write_eof()
                continue
            except ssl.SSLError as error:
                raise self._failed(error) from error
            if not self._give(self.beneath.send):
                raise BlockingIOError
            self.is_open, self._first = True, None

    def receive_into(self, buffer: bytearray | memoryview) -> int:
        """See `Socket.receive_into`. Raises TlsError."""
        view = memoryview(buffer)
        size = min(len(view), _MOST)
        incoming, tls = self._in, self._tls
        received = taken = 0
        is_dry = is_over = False
        needs_more = not (incoming.pending or tls.pending())
        try:
            while received < size and not self._ended:
                if needs_more:
                    is_over = taken - received > _OVERHEAD
                    # Without a byte to return, look for the end, too: no edge would tell of it.
                    if is_over or (is_dry and received) or (count := self._fill()) <= 0:
                        break
                    taken += count
                    is_dry = count < _TAKEN
                try:
                    # With a buffer it returns a number, which typeshed does not know.
                    count = tls.read(size - received, view[received:size])  # type: ignore[assignment]
                except ssl.SSLWantReadError:
                    needs_more = True
                    continue
                except ssl.SSLZeroReturnError:  # a close_notify after our own
                    count = 0
                self._ended |= not count  # a close_notify; many peers close without it
                received += count
                needs_more = not (incoming.pending or tls.pending())
        except ssl.SSLError as error:
            raise self._failed(error) from error
        if self._out.pending:  # such as the answer to a change of keys
            self._flush_out()
        self._check_overhead(taken if is_over and not received else 0)
        self.more = is_over or received == size < len(view)
        if not received and not self._ended:
            raise BlockingIOError
        return received

    def _check_overhead(self, without_data: int) -> None:
        """Raise TlsError for a peer that keeps the loop busy, or makes answers wait here."""
        if without_data:
            reason = f"the peer sends {without_data} bytes of records without data"
        elif self._out.pending > _PIECE:
            reason = "the peer has keys changed, and does not read the answers"
        else:
            return
        self.is_open = False
        raise TlsError(f"TLS: {reason}")

    def send(self, data: Buffer) -> int:
        return self._send(data, self.beneath.send)

    def send_more(self, data: Buffer) -> int:
        return self._send(data, self.beneath.send_more)

    def send_file_range(self, lease: Lease, start: int, limit: int) -> int:
        """See `Socket.send_file_range`. Reads a piece of the file and encrypts it."""
        if lease.cut:
            raise RangeCutError
        if not self._flush():
            raise BlockingIOError
        try:
            size = lease.try_read(start, self._scratch[:limit])
        except BlockingIOError:
            raise ColdRangeError from None
        if not size:  # another program has cut the file
            raise RangeCutError
        return self._send(self._scratch[:size], self.beneath.send)

    def make_room(self, *, sending: int = 0, receiving: int = 0) -> None:
        self.beneath.make_room(sending=sending, receiving=receiving)

    def transferred(self) -> tuple[int, int]:
        return self.beneath.transferred()

    def shutdown_write(self) -> None:
        self._say_farewell()
        self.beneath.shutdown_write()

    def close(self) -> None:
        """Close, after a close_notify as far as the kernel takes it. Idempotent."""
        if self.beneath.key >= 0:
            self._say_farewell()
        self.beneath.close()

    def abort(self) -> None:
        self.beneath.abort()

    async def wait_readable(self) -> None:
        await self.beneath.wait_readable()

    async def wait_writable(self) -> None:
        await self.beneath.wait_writable()

    def _send(self, data: Buffer, give: Callable[[Buffer], int]) -> int:
        if not self._flush():
            raise BlockingIOError
        view = memoryview(data)
        taken, size = 0, len(view)
        if self._owed and size:
            self._owed, taken = False, 1
        write = self._tls.write
        try:
            while taken < size:
                end = min(taken + _PIECE, size)
                while taken < end:  # one record a call
                    taken += write(view[taken:end])
                if not self._give(give):
                    self._owed = True
                    taken -= 1
                    break
        except ssl.SSLError as error:
            raise self._failed(error) from error
        if not taken and size:
            raise BlockingIOError
        return taken

    def _fill(self) -> int:
        """Take ciphertext from the socket; return how much, 0: none is there, -1: the end."""
        try:
            count = self.beneath.receive_into(self._arrived[:_TAKEN])
        except BlockingIOError:
            return 0
        if not count:
            self._ended = True
            return -1
        if self._first is not None and len(self._first) < _SNIFFED:
            self._first += bytes(self._arrived[: min(count, _SNIFFED)])
        self._in.write(self._arrived[:count])
        return count

    def _give(self, give: Callable[[Buffer], int]) -> bool:
        """Give the ciphertext of a piece to the socket; return whether it took all."""
        if not self._out.pending:
            return True
        data = self._out.read()
        try:
            count = give(data)
        except BlockingIOError:
            count = 0
        if count == len(data):
            return True
        self._unsent = memoryview(data)[count:]
        return False

    def _flush(self) -> bool:
        """Give what the socket did not take before; return whether nothing is left."""
        unsent = self._unsent
        if unsent is None:
            return True
        try:
            count = self.beneath.send(unsent)
        except BlockingIOError:
            return False
        self._unsent = unsent[count:] if count < len(unsent) else None
        return self._unsent is None

    def _flush_out(self) -> None:
        """Send what OpenSSL has to say by itself, behind what waits."""
        if self._flush():
            self._give(self.beneath.send)

    def _say_farewell(self) -> None:
        """Send close_notify, unless ciphertext before it has not left."""
        if not self.is_open:
            return
        self.is_open = False
        with suppress(OSError):
            with suppress(ssl.SSLError):
                self._tls.unwrap()
            self._flush_out()

    def _failed(self, error: ssl.SSLError) -> TlsError:
        """Send the alert, and return the error to raise."""
        self.is_open = False
        with suppress(OSError):
            self._flush_out()
        return tls_error(error, self._first or b"")
