"""Task that sends Fetch requests and requests for positions, and takes their responses.

Responses are taken in the task that receives them; nothing is decoded before it is read.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NoReturn

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.client import Client
from trio_kafka.clients.consumer.fetch_requests import FetchAttempt, FetchRequests
from trio_kafka.clients.consumer.fetch_responses import FetchResponses
from trio_kafka.clients.consumer.fetch_rows import FetchLimits, FetchRows
from trio_kafka.clients.consumer.metrics import ConsumerMetrics
from trio_kafka.clients.consumer.offset_requests import OffsetAttempt, OffsetRequests
from trio_kafka.clients.consumer.partition_state import PartitionState
from trio_kafka.clients.consumer.positions import Positions
from trio_kafka.clients.errors import ClientError
from trio_kafka.clients.links.calls import Call
from trio_kafka.clients.settings.consumer import ConsumerSettings
from trio_kafka.introspect.tree import Figures
from trio_kafka.protocol.messages.k01_fetch import FetchRequest, FetchResponse


@define(eq=False, kw_only=True)
class Fetcher:
    """Keeps the buffers of `positions` full. `run` is its task.

    arrived: called after data, errors or positions have arrived.
    """

    client: Client
    settings: ConsumerSettings
    positions: Positions
    arrived: Callable[[], None]
    metrics: ConsumerMetrics
    rows: FetchRows = field(init=False)
    fetches: FetchRequests = field(init=False)
    responses: FetchResponses = field(init=False)
    offsets: OffsetRequests = field(init=False)
    _wake_event: trio.Event = field(factory=trio.Event, init=False)

    def __attrs_post_init__(self) -> None:
        settings, cache = self.settings, self.client.metadata.cache
        isolation = int(settings.is_committed_only)
        self.offsets = OffsetRequests(
            positions=self.positions,
            cache=cache,
            reset=settings.reset,
            isolation=isolation,
            backoff=settings.retry_backoff,
        )
        self.rows = FetchRows(
            positions=self.positions,
            cache=cache,
            limits=FetchLimits(
                max_bytes=settings.fetch_max_bytes,
                partition_bytes=settings.max_partition_fetch_bytes,
                min_bytes=settings.fetch_min_bytes,
                max_wait_ms=settings.fetch_max_wait_ms,
                isolation=isolation,
                rack=settings.client_rack,
                checks_crc=settings.check_crcs,
                replica_s=settings.metadata_max_age_ms / 1000,
            ),
            backoff=settings.retry_backoff,
            resolve=self.offsets.add,
        )
        self.fetches = FetchRequests(self.rows)
        self.responses = FetchResponses(self.rows)
        self.client.metadata.watchers.append(self.wake)

    def wake(self) -> None:
        """Look again at what is to be fetched."""
        self._wake_event.set()

    def wake_if_touched(self) -> None:
        """Look again if what was read has made room."""
        if self.positions.touched:
            self._wake_event.set()

    def relieve(self, is_awaited: Callable[[PartitionState], bool]) -> None:
        """Make room for partitions that are awaited, see `FetchRequests.relieve`."""
        self.fetches.relieve(is_awaited)
        self.wake_if_touched()

    async def run(self) -> NoReturn:
        """Send requests as they become due, until cancelled."""
        while True:
            self._wake_event = trio.Event()
            self._send_due(trio.current_time())
            with trio.move_on_at(min(self.fetches.next_time(), self.offsets.next_time())):
                await self._wake_event.wait()

    async def close_sessions(self) -> None:
        """Close the sessions at all brokers that are connected. The caller sets a deadline.

        A broker that does not answer keeps its session until others need the place.
        """
        async with trio.open_nursery() as nursery:
            for number, node in self.rows.nodes.items():
                request = node.session.close_request()
                if request is not None and self.client.links[number].has_room:
                    nursery.start_soon(self._close_session, number, request)

    async def _close_session(self, node: int, request: FetchRequest) -> None:
        with suppress(ClientError):
            timeout_s = self.settings.request_timeout_s
            await self.client.links[node].ask(request, timeout_s=timeout_s)

    def figures(self) -> Figures:
        """Return the figures of the fetches for the tree."""
        positions = self.positions
        nodes = self.rows.nodes.values()
        return {
            "partitions": len(positions.states),
            "with_data": len(positions.ready),
            "buffered": positions.buffered,
            "in_flight": sum(node.reserved is not None for node in nodes),
            "short_of_memory": self.fetches.is_short,
            "errors": len(positions.errors),
        }

    def _send_due(self, now: float) -> None:
        metadata = self.client.metadata
        fetches = self.fetches.due(now)
        for fetch in fetches:
            self._submit(
                fetch.node, fetch.request, partial(self._fetched, fetch, now), fetch.at_most
            )
        for attempt in self.offsets.due(now, int(self.client.world.clock.wall() * 1000)):
            self._submit(attempt.node, attempt.request, partial(self._positioned, attempt), None)
        if self.rows.is_stale or self.offsets.is_stale:
            self.rows.is_stale = self.offsets.is_stale = False
            metadata.request_refresh()
        if self.positions.errors or self.fetches.is_short:
            self.arrived()

    def _submit(
        self, node: int, request: object, done: Callable[[object], None], at_most: int | None
    ) -> None:
        call = Call(
            request=request,
            done=done,
            timeout_s=self.settings.request_timeout_s,
            at_most=at_most,
        )
        self.client.links[node].submit(call)

    def _fetched(self, attempt: FetchAttempt, sent: float, result: object) -> None:
        now = trio.current_time()
        if isinstance(result, FetchResponse):
            buffered = self.positions.buffered
            self.responses.answered(attempt, result, now)
            self.metrics.note_fetch(
                latency_s=now - sent,
                size=self.positions.buffered - buffered,
                throttle_ms=result.throttle_time_ms,
            )
        else:
            self.responses.failed(attempt, now)
        self._take_end()

    def _positioned(self, attempt: OffsetAttempt, result: object) -> None:
        now = trio.current_time()
        if isinstance(result, ClientError):
            self.offsets.failed(attempt, now)
            self.offsets.is_stale = True
        else:
            self.offsets.answered(attempt, result, now)
        self._take_end()

    def _take_end(self) -> None:
        self.wake()
        self.arrived()
