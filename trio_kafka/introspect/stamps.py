"""Stamps of one request: the times of its hops, and what else is known of it.

A request passes these hops: queue (until a handler takes it), local (the handler's own work),
remote (parked), response queue (until its processor takes the answer) and send (until the socket
has taken all of it). Throttling is a pause after the answer, not a hop. All readings come from
`Clock.elapsed`. Source: Kafka's request metrics.
"""

from collections.abc import Mapping
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.model import Endpoint, key_of, version_of


@define(eq=False, kw_only=True)
class Origin:
    """Origin of requests: facts of a connection, without the connection.

    number: of the connection, on its processor. software: name and version of the client (KIP-511).
    unlogged: it reads the request log itself, so its requests are not logged.
    """

    peer: Endpoint
    local: Endpoint
    listener: str
    protocol: str
    number: int
    software: tuple[str, str] | None = None
    unlogged: bool = False


NOWHERE: Final = Origin(
    peer=Endpoint("", 0), local=Endpoint("", 0), listener="", protocol="", number=0
)


@define(eq=False, kw_only=True)
class Stamps:
    """Readings of one request, 0.0 where it has not come so far, and facts for metrics and logs.

    code: as in `model.code_of`. request_bytes: of the frame, without its length.
    response_bytes: with the length; 0: no answer.
    throttled_s: pause after the answer. plugin_s: time of interceptors, part of the handler's.
    error: of a request that failed as a whole; 0: none.
    errors: by code, of all parts of the answer, while they are counted.
    body: the decoded request, while the request log needs it.
    """

    received: float  # its last byte was received
    begun: float  # a handler took it
    code: int = 0
    correlation: int = 0
    request_bytes: int = 0
    origin: Origin = NOWHERE
    handled: float = 0.0  # answered or parked by the handler
    answered: float = 0.0
    sending: float = 0.0  # its processor took the answer
    sent: float = 0.0  # the socket took all of it
    throttled_s: float = 0.0
    plugin_s: float = 0.0
    error: int = 0
    response_bytes: int = 0
    client_id: str = ""
    errors: Mapping[int, int] = field(init=False)
    body: object = field(init=False)

    @property
    def key(self) -> int:
        """Key of the API."""
        return key_of(self.code)

    @property
    def version(self) -> int:
        """Requested version; ApiVersions is answered whatever the version is."""
        return version_of(self.code)
