"""Completion of delayed operations: at the end of a batch, or after being parked."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
import trio
from attrs import define, field
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.requests.leases import CountedLease
from trio_kafka.controls.interceptors import RecordingOwner
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.plugin import Context, api
from trio_kafka.protocol.messages.k01_fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from trio_kafka.protocol.schema import int16, records, request, response
from trio_kafka.purgatory import Delayed
from trio_kafka.records.file_range import FileRange
from trio_kafka.requests.interceptors.registry import Kind
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.testing.direct import ClosedError
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.planes import RunningPlane, running_plane
from trio_kafka.testing.sample_apis import WaitRequest, WaitResponse
from trio_kafka.testing.scripted_client import ScriptedClient, connected, request_frame
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld
from trio_kafka.world.simulated import SimulatedWorld

MANY = 3


@define(eq=False)
class Shelf:
    """Shelf that all requests of a round wait for. written: rounds that had something for it;
    closed: it is to be written later, by hand.
    """

    world: SimulatedWorld
    plane: RunningPlane = field(init=False)
    clients: list[ScriptedClient] = field(factory=list)
    waiting: list[str] = field(factory=list)
    done: list[str] = field(factory=list)
    written: list[int] = field(factory=list)
    closed: bool = False
    error: KafkaError | None = None
    on_request: Callable[[], None] = lambda: None
    slow: Callable[[], None] = lambda: None

    def serve(self, request: WaitRequest) -> Delayed | WaitResponse:
        name = str(request.timeout_ms)
        rounds = self.plane.budget.deferred
        if rounds.calls is None and not self.closed:  # a task asks: nothing is put off
            return WaitResponse(outcome=name)
        if rounds.calls is not None and not self.waiting:
            rounds.defer(self.write)
        self.waiting.append(name)
        self.on_request()

        def outcome(timed_out: bool) -> WaitResponse | None:
            if self.error is not None:
                raise self.error
            result = name in self.done or timed_out
            return WaitResponse(outcome="late" if timed_out else name) if result else None

        deadline = trio.current_time() + 30
        delayed = Delayed(("shelf",), deadline, outcome, purgatory=self.plane.purgatory)
        delayed.soon = rounds.calls is not None
        return delayed

    def write(self) -> None:
        if not self.closed:
            self.slow()
            self.written.append(len(self.waiting))
            self.done += self.waiting
            self.waiting.clear()
            self.plane.purgatory.mark("shelf")

    def ask_all(self) -> None:
        """One request of each client, at once."""
        for number, client in enumerate(self.clients):
            client.socket.send(request_frame(WaitRequest(number), 0))

    async def answers(self) -> list[str]:
        return [
            (await client.receive_answer(WaitResponse, 0))[1].outcome for client in self.clients
        ]

    @property
    def high_water(self) -> Any:
        return self.plane.purgatory.figures()["high_water"]


@asynccontextmanager
async def a_shelf() -> AsyncIterator[Shelf]:
    world = simulated_world()
    shelf = Shelf(world)

    @api(WaitRequest)
    def serve(request: WaitRequest, context: Context) -> Delayed | WaitResponse:
        return shelf.serve(request)

    world.universe.latency = 0.0
    listener = ListenerSettings(processors=1)
    async with (
        running_plane(world, [serve], listener=listener) as plane,
        AsyncExitStack() as stack,
    ):
        shelf.plane = plane
        shelf.clients += [
            await stack.enter_async_context(connected(world, plane.endpoint)) for _ in range(MANY)
        ]
        await trio.sleep(1)
        yield shelf


async def test_request_that_completes_at_the_end_of_a_round_is_not_parked(
    autojump_clock: MockClock,
) -> None:
    async with a_shelf() as shelf:
        for _ in range(2):
            shelf.ask_all()
            assert await shelf.answers() == ["0", "1", "2"]

        assert shelf.written == [MANY, MANY]
        assert shelf.high_water == 0
        assert shelf.plane.purgatory.figures()["completed"] == 2 * MANY
        assert shelf.plane.channel.requests.high_water == 0
        assert shelf.plane.buffers_out == 0


async def test_responses_of_a_round_are_sent_after_its_deferred_work(
    autojump_clock: MockClock,
) -> None:
    """Also those that nobody had to wait for."""
    async with a_shelf() as shelf:
        sent: list[int] = []
        rule = shelf.world.universe.fault

        def watch(machine: str, call: str, target: str) -> Any:
            if call == "send" and machine == "broker" and shelf.waiting:
                sent.append(len(shelf.waiting))
            return rule(machine, call, target)

        shelf.world.universe.fault = watch
        shelf.ask_all()
        assert await shelf.answers() == ["0", "1", "2"]
        assert sent == [0] * len(sent)


async def test_time_until_the_deferred_work_of_a_round_counts_as_remote_time(
    autojump_clock: MockClock,
) -> None:
    async with a_shelf() as shelf:
        shelf.slow = lambda: autojump_clock.jump(0.1)
        shelf.ask_all()
        await shelf.answers()

        (times,) = [node for _, node in shelf.plane.node.walk() if node.name == "Wait"]
        figures: Any = times.figures()
        assert figures["local_max_ms"] == 0
        assert figures["remote_max_ms"] == pytest.approx(100)


async def test_request_that_is_not_completed_at_the_end_of_a_round_is_parked(
    autojump_clock: MockClock,
) -> None:
    async with a_shelf() as shelf:
        shelf.closed = True
        shelf.ask_all()
        await trio.sleep(1)
        assert shelf.high_water == shelf.plane.purgatory.waiting == MANY
        shelf.closed = False
        shelf.write()

        assert await shelf.answers() == ["0", "1", "2"]
        assert shelf.plane.timers.waiting == 0


async def test_request_that_never_completes_is_answered_at_its_deadline(
    autojump_clock: MockClock,
) -> None:
    async with a_shelf() as shelf:
        shelf.closed = True
        began = trio.current_time()
        shelf.ask_all()
        assert await shelf.answers() == ["late"] * MANY
        assert 30 <= trio.current_time() - began < 31


async def test_request_that_fails_at_the_end_of_a_round_gets_an_error_response(
    autojump_clock: MockClock,
) -> None:
    async with a_shelf() as shelf:
        shelf.error = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
        shelf.ask_all()
        for client in shelf.clients:
            _, answer = await client.receive_answer(WaitResponse, 0)
            assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR


async def test_peer_that_leaves_within_a_round_does_not_disturb_other_requests(
    autojump_clock: MockClock,
) -> None:
    async with a_shelf() as shelf:
        shelf.on_request = shelf.clients[1].socket.abort
        shelf.ask_all()
        for client in shelf.clients[::2]:
            await client.receive_answer(WaitResponse, 0)
        await trio.sleep(1)

        assert len(shelf.plane.connections) == MANY - 1
        assert shelf.plane.buffers_out == 0
        assert shelf.plane.purgatory.waiting == 0


async def test_pipelined_requests_of_a_client_complete_in_separate_rounds(
    autojump_clock: MockClock,
) -> None:
    """Its answer is made before its next request is served."""
    async with a_shelf() as shelf:
        client = shelf.clients[0]
        frames = [request_frame(WaitRequest(number), 0) for number in range(5)]
        await client.send(b"".join(frames))
        outcomes = [(await client.receive_answer(WaitResponse, 0))[1].outcome for _ in range(5)]

        assert outcomes == ["0", "1", "2", "3", "4"]
        assert shelf.written == [1] * 5


@pytest.mark.parametrize("kind", ["after", "around"])
@pytest.mark.parametrize("closed", [False, True])
async def test_interceptors_see_responses_that_complete_at_the_end_of_a_round(
    autojump_clock: MockClock, closed: bool, kind: Kind
) -> None:
    seen: list[str] = []

    def after(request: Any, answer: WaitResponse, context: Context) -> None:
        seen.append(answer.outcome)

    async def around(request: Any, context: Context, forward: Any) -> Any:
        answer = await forward(request)
        seen.append(answer.outcome)
        return answer

    async with a_shelf() as shelf:
        function: Any = after if kind == "after" else around
        shelf.plane.parts.interceptors.add(kind, None, function, order=1, owner=RecordingOwner())
        for _ in range(2):  # then there are tasks, whose names are lent
            shelf.ask_all()
            await shelf.answers()
        seen.clear()
        shelf.closed = closed
        shelf.ask_all()
        if closed:
            await trio.sleep(1)
            shelf.closed = False
            shelf.write()

        assert sorted(await shelf.answers()) == sorted(seen) == ["0", "1", "2"]
        assert shelf.plane.purgatory.waiting == shelf.plane.timers.waiting == 0


@request(key=10110, versions="0")
class LeasedRequest:
    """Request for bytes of a file and a number."""

    number: int = int16()


@response(LeasedRequest)
class LeasedResponse:
    number: int = int16()
    data: memoryview | None = records(nullable="0+")


def leased(lease: CountedLease) -> Any:
    """A part of a response."""
    return FileRange(lease, 0, 10)  # type: ignore[arg-type]


async def test_file_lease_of_a_response_that_cannot_be_encoded_is_released(
    autojump_clock: MockClock,
) -> None:
    lease = CountedLease()

    @api(LeasedRequest)
    def serve(request: LeasedRequest, context: Context) -> LeasedResponse:
        return LeasedResponse(number=1 << 16, data=leased(lease))  # a bug: it has 16 bits

    async with PluginHarness(handlers=[serve]) as harness:
        with pytest.raises(ClosedError):
            await harness.ask(LeasedRequest())

    assert lease.released


async def test_leases_of_a_large_response_are_released_when_its_handler_group_ends(
    autojump_clock: MockClock,
) -> None:
    leases = [CountedLease() for _ in range(5000)]

    @api(FetchRequest)
    def serve(request: FetchRequest, context: Context) -> FetchResponse:
        rows = [PartitionData(number, records=leased(lease)) for number, lease in enumerate(leases)]
        return FetchResponse(responses=[FetchableTopicResponse("t", partitions=rows)])

    async with PluginHarness(handlers=[serve], world=RealWorld(SkippingClock())) as harness:
        assert harness._group is not None
        group = harness._group.group
        client, others = harness.client(), [object() for _ in range(8)]
        assert all(map(group.limiter.take_nowait, others))  # the rest of it waits for a token
        client.send(FetchRequest(), 12)
        await wait_all_tasks_blocked()
        assert group.limiter.waiting == 1
        assert not any(lease.released for lease in leases)
        assert group._nursery is not None
        group._nursery.cancel_scope.cancel()
        await wait_all_tasks_blocked()

        assert all(lease.released for lease in leases)
        for other in others:
            group.limiter.give_back(other)


async def test_steps_are_closed_when_their_task_is_cancelled(autojump_clock: MockClock) -> None:
    ends: list[str] = []

    def steps() -> Steps[None]:
        try:
            while True:
                yield
        finally:
            ends.append("closed")

    endless = steps()
    async with PluginHarness(world=RealWorld(SkippingClock())) as harness:
        assert harness._group is not None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(harness._group.group.run_steps, endless)
            await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()

    assert ends == ["closed"]
