"""Blocking connections to several brokers, by address, each opened when it is first used.

For one thread: nothing else is in flight on a connection. One that fails is closed, and the next
request to its address opens another. Nothing is retried here.
"""

import random
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import KafkaError, ProtocolError
from trio_kafka.model import Endpoint
from trio_kafka.peers.blocking import BlockingConnection, left_s
from trio_kafka.peers.errors import DamagedAnswerError, DeadlineError, PeerError
from trio_kafka.peers.session import Handshake, Profile, Request, Session
from trio_kafka.protocol.errors import EncodeError

if TYPE_CHECKING:
    from trio_kafka.security.sasl.client import Credentials
    from trio_kafka.security.tokens.login import TokenLogin

A = TypeVar("A")
_FAILURES: Final = (OSError, UnicodeError)  # of a name that cannot be looked up


def now() -> float:
    """Return the time of deadlines."""
    return time.monotonic()


def sleep(seconds: float) -> None:
    """Block the thread."""
    time.sleep(seconds)


def chance() -> float:
    """Return a random number from 0 to 1, for the jitter of pauses."""
    return random.random()  # noqa: S311 - no secret


random_bytes: Final[Callable[[int], bytes]] = random.SystemRandom().randbytes
"""Return so many random bytes, for programs without a World."""


def handshakes(login: "Credentials | TokenLogin | None") -> Callable[[], Handshake | None]:
    """Return what makes the handshake of each new connection of one client; None without a login.

    A token is got when it is needed, and kept until it is due.
    Raises KafkaError(SASL_AUTHENTICATION_FAILED), OSError if there is none.
    """
    if login is None:
        return lambda: None
    # Imported here: most commands use no SASL.
    from trio_kafka.peers.sasl import log_in  # noqa: PLC0415 - see above
    from trio_kafka.security.tokens.login import TokenLogin  # noqa: PLC0415 - see above

    if not isinstance(login, TokenLogin):
        credentials = login
        return lambda: log_in(credentials, random_bytes)
    from trio_kafka.peers.token_login import TokenKeeper, wait_token  # noqa: PLC0415 - see above

    keeper = TokenKeeper(login=login, wall=time.time, now=now, chance=chance)
    return lambda: log_in(wait_token(keeper, sleep), random_bytes)


@define(eq=False, kw_only=True)
class BlockingLinks:
    """Connections by address.

    client_id: in requests. connect_s: for a connection to open.
    handshake: makes that of a new connection. secure: wraps its socket; None: without TLS.
    """

    client_id: str
    connect_s: float
    handshake: Callable[[], Handshake | None] = lambda: None
    secure: Callable[[socket.socket, Endpoint], socket.socket] | None = None
    _connections: dict[Endpoint, BlockingConnection] = field(factory=dict, init=False)

    @property
    def connected(self) -> list[Endpoint]:
        """Addresses of open connections, the last one opened first."""
        return list(reversed(self._connections))

    def ask(
        self,
        address: Endpoint,
        request: Request[A],
        *,
        timeout_s: float,
        at_most: int | None = None,
    ) -> A:
        """Send a request and return its response. at_most: see `Session.send`.

        Raises PeerError, DeadlineError, DamagedAnswerError; KafkaError(UNSUPPORTED_VERSION) and
        EncodeError leave the connection open.
        """
        deadline = now() + timeout_s
        connection = self._usable(address, deadline)
        try:
            return connection.ask(request, deadline=deadline, at_most=at_most)
        except (KafkaError, EncodeError):
            raise
        except TimeoutError as error:
            self._drop(address)
            raise DeadlineError("no response in time", sent=True) from error
        except OSError as error:
            self._drop(address)
            raise PeerError(str(error) or type(error).__name__, sent=True) from error
        except ProtocolError as error:
            self._drop(address)
            raise DamagedAnswerError(str(error), sent=True) from error
        except BaseException:
            self._drop(address)
            raise

    def close(self) -> None:
        """Close all connections. Idempotent."""
        for address in list(self._connections):
            self._drop(address)

    def _usable(self, address: Endpoint, deadline: float) -> BlockingConnection:
        connection = self._connections.get(address)
        if connection is not None:
            if not connection.is_ready() and now() < connection.session.expires:
                return connection
            self._drop(address)  # its peer has closed it
        deadline = min(deadline, now() + self.connect_s)
        try:
            session = Session(Profile(client_id=self.client_id), self.handshake())
            plain = socket.create_connection((address.host, address.port), left_s(deadline))
            if self.secure is not None:
                plain = self.secure(plain, address)
            connection = BlockingConnection(plain, session, deadline=deadline)
        except TimeoutError as error:
            raise DeadlineError("no connection in time", sent=False) from error
        except _FAILURES as error:
            raise PeerError(_reason(error), sent=False) from error
        except KafkaError:  # of the handshake; the connection is closed already
            raise
        except ProtocolError as error:
            raise DamagedAnswerError(f"connecting: {error}", sent=False) from error
        self._connections[address] = connection
        return connection

    def _drop(self, address: Endpoint) -> None:
        connection = self._connections.pop(address, None)
        if connection is not None:
            connection.close()


def _reason(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) else None
    return f"connecting: {text or error}"
