"""One recorded request, and the conditions by which recorded requests are selected."""

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any, TypedDict

from trio_kafka.attributes import frozen
from trio_kafka.controls.faults.parts import Names
from trio_kafka.controls.running import KIT_CLIENT
from trio_kafka.protocol.compiler import decoder
from trio_kafka.protocol.headers import request_header_version
from trio_kafka.protocol.schema import message_of
from trio_kafka.wire.server import body_position


@frozen(kw_only=True)
class RecordedRequest:
    """Request that the broker received.

    number: its place among all recorded requests, from 1. at_s: `trio.current_time()`.
    connection: number of the connection, from 1. kind: class of the message.
    names: the topics, partitions, groups and transactional ids in it.
    frame: as sent, without its size.
    """

    number: int
    at_s: float
    api: str
    key: int
    version: int
    correlation: int
    client_id: str
    client_length: int
    principal: str
    listener: str
    connection: int
    kind: type[object]
    names: tuple[Names, ...]
    frame: bytes

    @property
    def message(self) -> Any:
        """The request as a message, decoded on each use."""
        flexible = request_header_version(message_of(self.kind), self.version) >= 2
        frame = memoryview(self.frame)
        position = body_position(frame, self.client_length, flexible=flexible)
        return decoder(self.kind, self.version)(frame, position)[0]

    @property
    def topics(self) -> list[str]:
        """Topics that it names, in order, each once."""
        return list(dict.fromkeys(part.topic for part in self.names if part.topic is not None))


MessageCondition = Callable[[Any], bool]
"""Function of a request's message."""


class Conditions(TypedDict, total=False):
    """Conditions of a selection; see `Selection`."""

    topic: str | None
    partition: int | None
    group: str | None
    client_id: str | None
    principal: str | None
    where: MessageCondition | None


@frozen(kw_only=True)
class Selection:
    """Conditions on recorded requests; None: all.

    key: of the API. topic, group, client_id, principal: patterns like those of file names.
    partition: number, of a matching topic if one is given.
    """

    key: int | None = None
    topic: str | None = None
    partition: int | None = None
    group: str | None = None
    client_id: str | None = None
    principal: str | None = None
    where: MessageCondition | None = None

    def takes(self, request: RecordedRequest) -> bool:
        """Return whether a request is selected. The kit's own are for a condition that names it."""
        if request.client_id == KIT_CLIENT and self.client_id != KIT_CLIENT:
            return False
        return (
            (self.key is None or request.key == self.key)
            and _fits(self.client_id, request.client_id)
            and _fits(self.principal, request.principal)
            and self._takes_names(request)
            and (self.where is None or bool(self.where(request.message)))
        )

    def _takes_names(self, request: RecordedRequest) -> bool:
        if self.topic is None and self.partition is None and self.group is None:
            return True
        return any(
            _fits(self.topic, part.topic)
            and _fits(self.group, part.group)
            and (self.partition is None or part.partition == self.partition)
            for part in request.names
        )


def _fits(pattern: str | None, name: str | None) -> bool:
    return pattern is None or (name is not None and fnmatchcase(name, pattern))
