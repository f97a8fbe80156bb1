"""Requests on their way, and the errors by which they end."""

from collections.abc import Callable
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.errors import (
    AuthenticationError,
    ClientError,
    ClosedError,
    NotKafkaError,
    Place,
    RetriableError,
    TimedOutError,
    UnsupportedError,
    client_error,
)
from trio_kafka.errors import KafkaError, ProtocolError
from trio_kafka.protocol.errors import EncodeError
from trio_kafka.protocol.schema import message_of
from trio_kafka.security.tls.errors import TlsCertificateError

_NEVER: Final = float("inf")
_KINDS: Final[dict[type[BaseException], type[ClientError]]] = {
    TimeoutError: TimedOutError,
    ProtocolError: NotKafkaError,
    EncodeError: UnsupportedError,
}


@define(eq=False, kw_only=True)
class Call:
    """A request and what is called at its end, exactly once, with its response or a ClientError.

    timeout_s: from the moment in which it is sent. at_most: see `Session.send`.
    is_answered: False: it ends with None once all its bytes are sent.
    sent: True as soon as a byte was given to the socket. deadline: of the response.
    """

    request: object
    done: Callable[[object], None]
    timeout_s: float
    at_most: int | None = None
    is_answered: bool = True
    sent: bool = field(default=False, init=False)
    deadline: float = field(default=_NEVER, init=False)

    @property
    def name(self) -> str:
        return message_of(type(self.request)).name.removesuffix("Request")


def call_error(cause: BaseException | None, place: Place, doing: str, *, sent: bool) -> ClientError:
    """Return the error for a call or a connection that has failed.

    cause: of the connection or of encoding; None: the client closes its links.
    doing: name of the request, or what else was done.
    """
    if cause is None:
        return ClosedError(f"{doing}: the client was closed", place=place, sent=sent)
    if isinstance(cause, KafkaError):
        return client_error(cause.code, f"{doing}: {cause.message}", place=place, sent=sent)
    if isinstance(cause, TlsCertificateError) or isinstance(cause.__cause__, TlsCertificateError):
        return AuthenticationError(f"{doing}: {cause}", place=place, sent=sent)
    reason = f"{doing}: {str(cause) or type(cause).__name__}"
    kind = next((kind for of, kind in _KINDS.items() if isinstance(cause, of)), RetriableError)
    return kind(reason, place=place, sent=sent)
