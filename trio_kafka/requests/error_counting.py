"""Switch of error counting: the error codes in all parts of responses are counted.

Codes are counted only while a metrics reporter needs them, as a response is encoded, which includes
the items of lazy arrays. An `Encoded` response carries its own counts. See `replies.Route`.
Source: RequestChannel.updateErrorMetrics and AbstractResponse.errorCounts of Apache Kafka.
"""

from collections.abc import Callable

from attrs import field

from trio_kafka.attributes import define


@define(eq=False)
class ErrorCounts:
    """Switch of error counting; the counts are stored in the stamps of each request."""

    active: bool = field(default=False, init=False)
    _toggled: list[Callable[[], None]] = field(factory=list, init=False)

    def on_toggle(self, call: Callable[[], None]) -> None:
        """Call a function after each change of `active`."""
        self._toggled.append(call)

    def set_active(self, active: bool) -> None:
        """Start or stop counting; requests in flight keep their routes."""
        if active is not self.active:
            self.active = active
            for call in self._toggled:
                call()
