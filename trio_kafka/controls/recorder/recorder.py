"""Recorder: the requests that a running broker receives.

    with Recorder(broker) as recorder:
        ...
        await recorder.wait(2, "Produce", topic="orders")
        assert len(recorder.requests("Produce", client_id="app-*")) == 2

It is a `before` interceptor, outermost: requests that a fault rule answers are recorded too. It is
installed between `start` and `stop` only. A request is recorded when a handler takes it, so those
of one connection have their order.
"""

from collections import deque
from types import TracebackType
from typing import Final, Self, Unpack

import trio

from trio_kafka.controls.api_names import ApiName, key_of_api
from trio_kafka.controls.faults.asked_parts import parts_of
from trio_kafka.controls.interceptors import RecordingOwner
from trio_kafka.controls.keywords import keywords_of, suggesting_methods
from trio_kafka.controls.recorder.recorded import (
    Conditions,
    MessageCondition,
    RecordedRequest,
    Selection,
)
from trio_kafka.controls.running import HasParts
from trio_kafka.introspect.stamps import Origin
from trio_kafka.requests.context import Context
from trio_kafka.requests.interceptors.registry import Interception

_MOST: Final = 10_000
_ORDER: Final = -1  # before fault rules


@suggesting_methods
class Recorder:
    """Recorded requests of one broker, the latest `most` of them.

    dropped: number of older ones that were discarded.
    """

    def __init__(self, broker: HasParts, *, most: int = _MOST) -> None:
        self._broker = broker
        self._requests: deque[RecordedRequest] = deque(maxlen=most)
        self._count = self.dropped = 0
        self._connections: dict[Origin, int] = {}
        self._placed: Interception | None = None
        self._changed = trio.lowlevel.ParkingLot()

    def start(self) -> None:
        """Record requests from now on. Idempotent."""
        if self._placed is None:
            self._placed = self._broker.parts.interceptors.add(
                "before", None, self._record, order=_ORDER, owner=RecordingOwner("recorder")
            )

    def stop(self) -> None:
        """Record no more; what was recorded stays. Idempotent."""
        placed, self._placed = self._placed, None
        if placed is not None:
            self._broker.parts.interceptors.remove(placed)

    def attach(self, broker: HasParts) -> None:
        """Record the requests of the broker's next life."""
        was_on, self._placed = self.is_on, None
        self._broker = broker
        if was_on:
            self.start()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def is_on(self) -> bool:
        return self._placed is not None

    def clear(self) -> None:
        """Discard what was recorded."""
        self._requests.clear()
        self.dropped = 0

    def requests(
        self,
        api: ApiName | None = None,
        *,
        topic: str | None = None,
        partition: int | None = None,
        group: str | None = None,
        client_id: str | None = None,
        principal: str | None = None,
        where: MessageCondition | None = None,
    ) -> list[RecordedRequest]:
        """Return the recorded requests that meet all conditions, in order.

        The texts are patterns like those of file names. where: function of the message.
        Raises UnknownApiError.
        """
        selection = self._selection(
            api,
            topic=topic,
            partition=partition,
            group=group,
            client_id=client_id,
            principal=principal,
            where=where,
        )
        return [request for request in self._requests if selection.takes(request)]

    async def wait(
        self, count: int = 1, api: ApiName | None = None, **conditions: Unpack[Conditions]
    ) -> list[RecordedRequest]:
        """Wait until some requests meet the conditions of `requests`, and return them.

        Raises UnknownApiError.
        """
        await trio.lowlevel.checkpoint()
        while len(requests := self.requests(api, **conditions)) < count:
            await self._changed.park()
        return requests

    def _selection(self, api: ApiName | None, **conditions: Unpack[Conditions]) -> Selection:
        key = None if api is None else key_of_api(api, self._broker.parts.apis)
        return Selection(key=key, **conditions)

    def _record(self, message: object, context: Context) -> None:
        request, connection = context.request, context.connection
        if len(self._requests) == self._requests.maxlen:
            self.dropped += 1
        self._count += 1
        numbers = self._connections
        self._requests.append(
            RecordedRequest(
                number=self._count,
                at_s=trio.current_time(),
                api=request.route.api.name,
                key=request.key,
                version=context.version,
                correlation=context.correlation,
                client_id=context.client_id,
                client_length=request.client_length,
                principal=context.principal,
                listener=context.listener,
                connection=numbers.setdefault(connection.origin, len(numbers) + 1),
                kind=type(message),
                names=tuple(parts_of(context).below(message)),
                frame=bytes(request.frame or b""),
            )
        )
        self._changed.unpark_all()


CONDITIONS: Final = tuple(name for name in keywords_of(Recorder.requests) if name != "self")
"""Names of the arguments of `Recorder.requests`."""
