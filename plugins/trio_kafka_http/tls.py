"""TLS of the plane: a context from the plane's settings, made again when its files change."""

import ssl
from collections.abc import Callable
from typing import Final

import trio

from trio_kafka.config.setting import ConfigError
from trio_kafka.introspect.log import Logger
from trio_kafka.introspect.log_pace import LogPace
from trio_kafka.security.tls.contexts import server_identity
from trio_kafka.security.tls.errors import TlsError
from trio_kafka.security.tls.handshake import HANDSHAKE_S, shake_hands
from trio_kafka.security.tls.settings import TlsSettings
from trio_kafka.security.tls.socket import TlsSocket, new_arrival_buffer
from trio_kafka.world.operator_files import file_stamp
from trio_kafka.world.protocols import Socket
from trio_kafka.world.world import World
from trio_kafka_http.settings import HttpSettings
from trio_kafka_http.socket_stream import SocketStream

_LINES: Final = 20  # of failed handshakes, in a second
_LOOK_S: Final = 10.0  # between two looks at the files, which new connections cause


class HttpTls:
    """TLS of all https listeners. Call `load` before the first connection."""

    def __init__(self, settings: HttpSettings, world: World, logger: Logger) -> None:
        self._settings = TlsSettings.from_fields(settings)
        self._world = world
        self._logger = logger
        self._context: ssl.SSLContext | None = None
        self._stamp: object = None
        self._looked = 0.0
        self._arrived = new_arrival_buffer()
        self._turn = trio.Lock()
        self._pace = LogPace(_LINES)

    async def load(self) -> None:
        """Make the context. Raises ConfigError with the plane's name of the setting."""
        self._looked, self._stamp = trio.current_time(), self._present_stamp()
        try:
            identity = await self._world.run_in_thread(server_identity, self._settings)
        except ConfigError as error:
            raise ConfigError(f"plugin.http.{error.name}", error.reason) from None
        self._context = identity.context

    async def wrap(self, socket: Socket) -> TlsSocket:
        """Return a socket with TLS, before its handshake, by the files as they are now."""
        await trio.lowlevel.checkpoint()
        if trio.current_time() - self._looked >= _LOOK_S:
            self._looked = trio.current_time()
            if self._present_stamp() != self._stamp:
                try:
                    await self.load()
                except ConfigError as error:
                    self._logger.error("certificate could not be used", reason=str(error))  # noqa: TRY400
                else:
                    self._logger.info("certificate replaced")
        assert self._context is not None  # noqa: S101 - narrows: see the class
        return TlsSocket(socket, self._context, arrived=self._arrived, is_server=True)

    async def shake(self, socket: TlsSocket) -> None:
        """Shake hands, one step in a pass of the loop for all connections of the plane."""
        await shake_hands(socket, self._turn)

    def note_failure(self, socket: Socket, reason: str) -> None:
        """Log a handshake that has failed."""
        others = self._pace.admit(trio.current_time())
        if others is not None:
            peer = str(socket.peer)
            self._logger.info("TLS handshake failed", peer=peer, reason=reason, others=others)

    def _present_stamp(self) -> object:
        location = self._settings.keystore_location
        return None if location is None else file_stamp(location)


class SecuredStream(SocketStream):
    """Stream with TLS. Its methods are those by which hypercorn knows Trio's SSLStream."""

    def __init__(
        self,
        socket: Socket,
        *,
        tls: HttpTls,
        stall_s: float,
        idle_s: float,
        over: Callable[[], None],
    ) -> None:
        super().__init__(socket, stall_s=stall_s, idle_s=idle_s, over=over)
        self._tls = tls
        self._time_s = min(idle_s, HANDSHAKE_S)

    @property
    def transport_stream(self) -> "SecuredStream":
        """Return what has the addresses."""
        return self

    async def do_handshake(self) -> None:
        """Shake hands. Raises BrokenResourceError, after the log line."""
        reason = "the handshake was not finished in time"
        with trio.move_on_after(self._time_s):
            try:
                secured = await self._tls.wrap(self._socket)
                self._socket = secured
                await self._tls.shake(secured)
            except TlsError as error:
                reason = str(error)
            except OSError as error:
                raise trio.BrokenResourceError(str(error)) from error
            except AttributeError as error:
                # hypercorn takes this one for a sign of a stream without TLS, and would go on so.
                raise trio.BrokenResourceError("the handshake broke") from error
            else:
                return
        self._tls.note_failure(self._socket, reason)
        raise trio.BrokenResourceError(reason)

    def selected_alpn_protocol(self) -> str:
        """Return the only protocol that the plane speaks."""
        return "http/1.1"
