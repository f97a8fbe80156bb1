"""Session: the client's side of one connection, from its first byte to its last. Does no I/O.

Theory of operation. `begin` returns the first bytes: ApiVersions, on every connection, as the peer
may have been replaced by another version of itself, and learns our name from it (KIP-511). Then
come the steps of the handshake, such as SASL, one at a time. Once `is_open`, requests may be sent,
also several at a time; each is sent in the highest version that both sides know, and responses
come in the order of the requests. The shell receives into `room()`, passes the count to `received`
with the time, sends what that returns, and closes the connection when `deadline` has passed or
when the session raises: a response that comes later would be taken for another one.
"""

from collections.abc import Callable, Generator
from typing import Final, NamedTuple, Protocol, TypeVar, cast

from trio_kafka.attributes import frozen
from trio_kafka.errors import ErrorCode, KafkaError, ProtocolError
from trio_kafka.peers.in_flight import InFlightRequests
from trio_kafka.protocol.schema import message_of
from trio_kafka.protocol.versions import Range
from trio_kafka.wire.client import LARGEST, common_version

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)
_NEWEST_API_VERSIONS: Final = 4  # later ones name a cluster and a node, which we do not know


class Request(Protocol[A_co]):
    """A request message; `A_co` is the class of its response."""

    @property
    def response(self) -> type[A_co]: ...


@frozen
class Step:
    """One exchange of a handshake. version: None: the highest that both sides know."""

    request: object
    version: int | None = None


@frozen
class Work:
    """A computation of several ms in a handshake. The shell makes it where nothing waits for it."""

    call: Callable[[], object]


Handshake = Generator[Step | Work, object, float]
"""Yields steps, is sent their responses, and returns for how many seconds the session is valid.

It may yield Work between them, and is sent its result."""


def exchange(request: Request[A], version: int | None = None) -> Generator[Step | Work, object, A]:
    """Return the response of one step, for use with `yield from` in a handshake."""
    return cast("A", (yield Step(request, version)))


@frozen(kw_only=True)
class Profile:
    """How a client presents itself, and what it accepts.

    software: name and version for ApiVersions. largest: bytes of the largest response.
    longest_throttle_s: limit of what a peer may ask for by `throttle_time_ms`.
    """

    client_id: str | None = None
    software: tuple[str, str] = ("trio-kafka", "1")
    largest: int = LARGEST
    longest_throttle_s: float = 30.0


class Progress(NamedTuple):
    """Result of received bytes.

    to_send: bytes to send now. response: to the oldest request. work: pass its result to `worked`.
    """

    to_send: bytes = b""
    response: object | None = None
    work: Work | None = None


_INCOMPLETE: Final = Progress()


class Session:
    """Session of one connection. After an exception of `received` it must not be used.

    handshake: steps after ApiVersions; None: there are none.
    is_open: True if requests may be sent. expires: time at which the peer ends the session.
    not_before: time before which the peer wants no other request (KIP-219).
    """

    def __init__(self, profile: Profile, handshake: Handshake | None = None) -> None:
        self.is_open = False
        self.expires = float("inf")
        self.not_before = float("-inf")
        self.in_flight = InFlightRequests(profile.client_id, profile.largest)
        self._profile = profile
        self._steps = self._opening(handshake)
        self._opened_until = float("inf")
        self._served: dict[int, Range] = {}
        self._versions: dict[type[object], int] = {}

    @property
    def deadline(self) -> float:
        """Time at which the connection must be closed if nothing has been received."""
        return self.in_flight.deadline

    def begin(self, *, deadline: float = float("inf")) -> bytes:
        """Return the first bytes to send. deadline: of all steps until the session is open."""
        self._opened_until = deadline
        first = next(self._steps)
        if isinstance(first, Work):
            raise TypeError("a handshake begins with a request")
        return self._request_of(first)

    def version_of(self, request: type[object], at_most: int | None = None) -> int:
        """Return the version in which a request is sent.

        at_most: highest version that the caller has the data for.
        Raises KafkaError(UNSUPPORTED_VERSION) if there is none.
        """
        version = self._versions.get(request)
        if version is None:
            version = self._versions[request] = self._agreed(request)
        if at_most is None or version <= at_most:
            return version
        first = self._served[_key_of(request)][0]
        if at_most < first:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"{message_of(request).name} version {at_most}: the peer serves {first} and later",
            )
        return at_most

    def send(
        self,
        request: object,
        *,
        deadline: float = float("inf"),
        at_most: int | None = None,
        is_answered: bool = True,
    ) -> bytes:
        """Return the bytes of a request, all of which must be sent.

        Raises KafkaError(UNSUPPORTED_VERSION), and EncodeError for a value that the version lacks;
        the session can still be used then.
        """
        version = self.version_of(type(request), at_most)
        return self.in_flight.add(request, version, deadline=deadline, is_answered=is_answered)

    def room(self) -> memoryview:
        """Return where to receive the next bytes; never empty."""
        return self.in_flight.room()

    def received(self, count: int, now: float) -> Progress:
        """Take the `count` bytes that were received into `room()`; 0: the stream has ended.

        Raises ProtocolError, StreamEndedError, and what the handshake raises.
        """
        response = self.in_flight.received(count)
        if response is None:
            return _INCOMPLETE
        if self.is_open:
            self._note_throttle(response, now)
            return Progress(response=response)
        return self._go_on(response, now)

    def worked(self, result: object, now: float) -> Progress:
        """Take the result of the handshake's work. Raises what the handshake raises."""
        return self._go_on(result, now)

    def _go_on(self, result: object, now: float) -> Progress:
        try:
            step = self._steps.send(result)
        except StopIteration as end:
            self.is_open = True
            self.expires = now + end.value
            return _INCOMPLETE
        if isinstance(step, Work):
            return Progress(work=step)
        return Progress(to_send=self._request_of(step))

    def _request_of(self, step: Step) -> bytes:
        version = step.version
        if version is None:
            version = self.version_of(type(step.request))
        return self.in_flight.add(step.request, version, deadline=self._opened_until)

    def _opening(self, handshake: Handshake | None) -> Handshake:
        """Agree on versions, then shake hands. Returns for how long the session is valid."""
        # A message, which the start of a broker need not import.
        from trio_kafka.protocol.messages.k18_api_versions import (  # noqa: PLC0415 - see above
            ApiVersionsRequest,
        )

        version = _NEWEST_API_VERSIONS
        while True:
            answer = yield from exchange(ApiVersionsRequest(*self._profile.software), version)
            served = {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}
            if answer.error_code != ErrorCode.UNSUPPORTED_VERSION or version == 0:
                break
            # The peer names the versions that it has (KIP-511); before Kafka 2.4 it names none.
            # A peer that rejects them too must not keep us here, so each try is lower.
            version = min(served.get(_key_of(ApiVersionsRequest), (0, 0))[1], version - 1)
            version = max(version, 0)
        if answer.error_code:
            raise ProtocolError(f"ApiVersions {version}: error code {answer.error_code}")
        self._served = served
        return float("inf") if handshake is None else (yield from handshake)

    def _agreed(self, request: type[object]) -> int:
        message = message_of(request)
        served = self._served.get(_key_of(request))
        version = None if served is None else common_version(message, served)
        if version is None:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"the peer serves no version of {message.name} that is known here",
            )
        return version

    def _note_throttle(self, response: object, now: float) -> None:
        throttle_ms = getattr(response, "throttle_time_ms", 0)
        if throttle_ms > 0:
            pause_s = min(throttle_ms / 1000, self._profile.longest_throttle_s)
            self.not_before = max(self.not_before, now + pause_s)


def _key_of(request: type[object]) -> int:
    """Return the API key of a request. Raises TypeError for another message."""
    key = message_of(request).key
    if key is None:
        raise TypeError(f"{request.__name__} is not a request")
    return key
