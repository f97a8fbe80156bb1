"""Async interceptors: requests in a task of their own, and what may go wrong with them."""

import gc
from contextlib import suppress
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.requests.work import in_slices
from trio_kafka.controls.interceptors import RecordingOwner
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError, LogDirError, ProtocolError
from trio_kafka.pending import NO_ANSWER
from trio_kafka.plugin import Context, Encoded, api
from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.messages.k00_produce import ProduceRequest, ProduceResponse
from trio_kafka.purgatory import Delayed, Purgatory
from trio_kafka.records.file_range import FileRange
from trio_kafka.requests.interceptors.around import _AroundCall
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.testing.direct import ClosedError
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.planes import RunningPlane, running_plane
from trio_kafka.testing.sample_apis import (
    EchoRequest,
    EchoResponse,
    ReadRequest,
    ReadResponse,
    WaitRequest,
    WaitResponse,
)
from trio_kafka.testing.scripted_client import connect, connected, request_frame
from trio_kafka.testing.simulation import simulated_world


@api(EchoRequest)
def echo(request: EchoRequest, context: Context) -> EchoResponse:
    return EchoResponse(text=request.text, number=request.number)


async def nothing_more(request: Any, context: Context, forward: Any) -> Any:
    return await forward(request)


def put_around(
    plane: RunningPlane, function: Any, request: Any = None, *, order: int = 100, **more: Any
) -> RecordingOwner:
    owner = RecordingOwner()
    plane.parts.interceptors.add("around", request, function, order=order, owner=owner, **more)
    return owner


async def test_around_interceptor_may_change_the_request_and_the_response(
    autojump_clock: MockClock,
) -> None:
    async def louder(request: EchoRequest, context: Context, forward: Any) -> EchoResponse:
        await trio.sleep(1)
        request.text = request.text.upper()
        answer: EchoResponse = await forward(request)
        await trio.sleep(1)
        return EchoResponse(text=answer.text + "!", number=context.version)

    world = simulated_world()
    async with running_plane(world, [echo]) as plane, connected(world, plane.endpoint) as client:
        owner = put_around(plane, louder, EchoRequest)
        answer = await client.ask(EchoRequest("hello", 7), 1)

        assert (answer.text, answer.number) == ("HELLO!", 1)
        assert owner.failures == []
        assert plane.group.limiter.borrowed_tokens == 0


async def test_delayed_response_behind_an_around_interceptor_waits_without_a_token(
    autojump_clock: MockClock,
) -> None:
    planes: list[RunningPlane] = []
    ready: list[bool] = []

    @api(WaitRequest)
    def wait(request: WaitRequest, context: Context) -> Delayed:
        def outcome(timed_out: bool) -> WaitResponse | None:
            if timed_out or ready:
                return WaitResponse(outcome="time" if timed_out else "mark")
            return None

        deadline = trio.current_time() + request.timeout_ms / 1000
        return Delayed(("key",), deadline, outcome, purgatory=planes[0].purgatory)

    world = simulated_world()
    async with (
        running_plane(world, [wait], threads=1) as plane,
        connected(world, plane.endpoint) as client,
    ):
        planes.append(plane)
        put_around(plane, nothing_more)
        put_around(plane, nothing_more)
        began = trio.current_time()
        assert (await client.ask(WaitRequest(3000), 0)).outcome == "time"
        assert 3.0 <= trio.current_time() - began < 3.1

        await client.send(request_frame(WaitRequest(3000), 0))
        await trio.sleep(1)
        assert plane.group.limiter.borrowed_tokens == 0
        assert plane.buffers_out == 0
        plane.purgatory.mark("key")
        await trio.sleep(1)
        ready.append(True)
        plane.purgatory.mark("key")
        assert (await client.receive_answer(WaitResponse, 0))[1].outcome == "mark"
        assert len(plane.purgatory.watchers) == plane.timers.waiting == 0


async def test_parked_request_behind_around_interceptors_is_cancelled_when_its_peer_leaves(
    autojump_clock: MockClock,
) -> None:
    planes: list[RunningPlane] = []
    ends: list[str] = []

    @api(WaitRequest)
    def wait(request: WaitRequest, context: Context) -> Delayed:
        return Delayed(
            ("key",), float("inf"), lambda timed_out: None, purgatory=planes[0].purgatory
        )

    async def noted(request: Any, context: Context, forward: Any) -> Any:
        try:
            return await forward(request)
        except trio.Cancelled:
            ends.append("cancelled")
            raise

    world = simulated_world()
    async with running_plane(world, [wait], threads=1) as plane:
        planes.append(plane)
        owners = [put_around(plane, noted), put_around(plane, noted)]
        for _ in range(3):
            client = await connect(world.network, plane.endpoint)
            await client.send(request_frame(WaitRequest(), 0))
            await trio.sleep(1)
            assert plane.purgatory.waiting == 1
            client.close()
            await trio.sleep(1)
            assert plane.purgatory.waiting == 0
            assert not plane.connections

        assert ends == ["cancelled"] * 6
        assert [owner.failures for owner in owners] == [[], []]
        assert plane.group.limiter.borrowed_tokens == 0


# --- without a network


@api(EchoRequest)
async def echo_late(request: EchoRequest, context: Context) -> EchoResponse:
    await context.parked(trio.sleep, 0.001)
    return echo(request, context)


@api(EchoRequest)
def echo_bytes(request: EchoRequest, context: Context) -> Encoded:
    return Encoded(to_bytes(echo(request, context), context.version))


@api(EchoRequest)
@in_slices
def echo_in_steps(request: EchoRequest, context: Context) -> Steps[EchoResponse]:
    yield
    return echo(request, context)


def put(harness: PluginHarness, function: Any, kind: Any = "around", **more: Any) -> RecordingOwner:
    owner = RecordingOwner()
    options = {"order": 100, "owner": owner, **more}
    harness.interceptors.add(kind, None, function, **options)
    return owner


def idle(harness: PluginHarness) -> bool:
    """No request holds a token or is parked."""
    (tokens,) = [node for _, node in harness.node.walk() if node.name == "num.io.threads"]
    return not (parked(harness) or tokens.figures()["borrowed"])


def parked(harness: PluginHarness) -> int:
    (handlers,) = [node for _, node in harness.node.walk() if node.name == "request-handlers"]
    return int(handlers.figures()["parked"])


def waiting(harness: PluginHarness, *, waits: bool = False) -> Purgatory:
    """Serve WaitRequest by what waits for a mark, or its deadline."""
    purgatory = Purgatory("Wait", harness.timers, harness.node)

    def make(request: WaitRequest) -> Delayed:
        def outcome(timed_out: bool) -> WaitResponse | None:
            return WaitResponse(outcome="time") if timed_out else None

        deadline = trio.current_time() + request.timeout_ms / 1000
        return Delayed(("key",), deadline, outcome, purgatory=purgatory)

    async def wait_late(request: WaitRequest, context: Context) -> Delayed:
        await trio.sleep(0.1)
        return make(request)

    def wait(request: WaitRequest, context: Context) -> Delayed:
        return make(request)

    harness.add(api(WaitRequest)(wait_late if waits else wait))
    return purgatory


@pytest.mark.parametrize("handler", [echo, echo_late, echo_bytes, echo_in_steps])
async def test_forward_returns_a_message_for_every_kind_of_handler(
    autojump_clock: MockClock, handler: Any
) -> None:
    async def louder(request: EchoRequest, context: Context, forward: Any) -> EchoResponse:
        answer: EchoResponse = await forward(request)
        assert type(answer) is EchoResponse
        answer.text += "!"
        return answer

    def mark(request: Any, response: EchoResponse, context: Context) -> None:
        response.text += "?"

    async with PluginHarness(handlers=[handler]) as harness:
        owners = [
            put(harness, louder, order=1),
            put(harness, mark, "after", order=2),
            put(harness, louder, order=3),
            put(harness, mark, "after", order=4),
        ]
        assert (await harness.ask(EchoRequest("x"))).text == "x?!?!"
        assert [owner.failures for owner in owners] == [[]] * 4
        assert idle(harness)


@pytest.mark.parametrize("waits", [False, True])
async def test_forward_returns_an_error_response_when_the_handler_raises(
    autojump_clock: MockClock, waits: bool
) -> None:
    errors = [
        KafkaError(ErrorCode.NOT_COORDINATOR, "elsewhere"),
        ValueError("bug"),
        LogDirError("/data", "broken"),
    ]

    def fail(request: EchoRequest, context: Context) -> EchoResponse:
        raise errors[request.number]

    async def fail_late(request: EchoRequest, context: Context) -> EchoResponse:
        await trio.lowlevel.checkpoint()
        raise errors[request.number]

    async def reading(request: EchoRequest, context: Context, forward: Any) -> EchoResponse:
        answer: EchoResponse = await forward(request)
        return EchoResponse(answer.error_code, text=f"saw {answer.error_code}")

    async with PluginHarness(handlers=[api(EchoRequest)(fail_late if waits else fail)]) as harness:
        put(harness, reading)
        texts = [(await harness.ask(EchoRequest(number=n))).text for n in range(3)]
        assert texts == ["saw 16", "saw -1", "saw 56"]
        assert harness.counters.value("request_errors", api="Echo", error="NOT_COORDINATOR") == 1


async def test_around_interceptor_cannot_swallow_a_protocol_error_or_a_broken_invariant(
    autojump_clock: MockClock,
) -> None:
    async def swallowing(request: EchoRequest, context: Context, forward: Any) -> EchoResponse:
        with suppress(Exception):
            await forward(request)
        return EchoResponse(text="all is well")

    @api(EchoRequest)
    def fail(request: EchoRequest, context: Context) -> EchoResponse:
        raise (InvariantError if request.number else ProtocolError)("not like this")

    with pytest.raises(InvariantError):
        async with PluginHarness(handlers=[fail]) as harness:
            owner = put(harness, swallowing)
            with pytest.raises(ClosedError, match="not like this"):
                await harness.client().ask(EchoRequest())
            assert owner.failures == []
            await harness.ask(EchoRequest(number=1))


async def test_connection_ends_though_an_interceptor_replaces_the_protocol_error(
    autojump_clock: MockClock,
) -> None:
    @api(EchoRequest)
    def fail(request: EchoRequest, context: Context) -> EchoResponse:
        raise ProtocolError("not like this")

    async def masking(request: EchoRequest, context: Context, forward: Any) -> EchoResponse:
        try:
            return await forward(request)  # type: ignore[no-any-return]
        except ProtocolError:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, "masked") from None

    async with PluginHarness(handlers=[fail]) as harness:
        put(harness, masking)
        with pytest.raises(ClosedError, match="not like this"):
            await harness.ask(EchoRequest())
        (interception,) = harness.interceptors._all
        assert (interception.refused, interception.errors) == (0, 0)


@pytest.mark.parametrize("waits", [False, True])
async def test_delayed_response_that_is_ready_before_registration_is_sent_at_once(
    autojump_clock: MockClock, waits: bool
) -> None:
    async with PluginHarness() as harness:
        purgatory = Purgatory("Wait", harness.timers, harness.node)

        def make() -> Delayed:
            answer = WaitResponse(outcome="there already")
            return Delayed(("key",), float("inf"), lambda _: answer, purgatory=purgatory)

        async def late(request: WaitRequest, context: Context) -> Delayed:
            delayed = make()
            await trio.sleep(1)
            return delayed

        @in_slices
        def in_steps(request: WaitRequest, context: Context) -> Steps[Delayed]:
            delayed = make()
            yield
            return delayed

        harness.add(api(WaitRequest)(late if waits else in_steps))
        put(harness, nothing_more)
        with trio.fail_after(2):
            assert (await harness.ask(WaitRequest())).outcome == "there already"


@pytest.mark.parametrize("how", ["replaced", "failed", "kept"])
async def test_file_ranges_of_a_response_that_an_around_interceptor_drops_are_released(
    autojump_clock: MockClock, how: str
) -> None:
    class Lease:
        key, end, cut, released = 0, 10, False, False

        def release(self) -> None:
            self.released = True

    lease = Lease()

    @api(ReadRequest)
    def read(request: ReadRequest, context: Context) -> ReadResponse:
        return ReadResponse(FileRange(lease, 0, 0))  # type: ignore[arg-type]

    async def changing(request: ReadRequest, context: Context, forward: Any) -> ReadResponse:
        answer: ReadResponse = await forward(request)
        if how == "failed":
            raise ValueError
        return ReadResponse(answer.data if how == "kept" else memoryview(b"other"))

    async with PluginHarness(handlers=[read]) as harness:
        put(harness, changing)
        harness.client().send(ReadRequest())
        await trio.sleep(1)
        assert lease.released is (how != "kept")


async def test_around_interceptor_may_respond_without_forwarding(autojump_clock: MockClock) -> None:
    async def refusing(request: EchoRequest, context: Context, forward: Any) -> EchoResponse:
        await context.parked(trio.sleep, 1)
        if request.text:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, "not this")
        return EchoResponse(text="here")

    async with PluginHarness(handlers=[echo]) as harness:
        owner = put(harness, refusing)
        assert (await harness.ask(EchoRequest())).text == "here"
        refused = await harness.ask(EchoRequest("x"))
        assert (refused.error_code, refused.error_message) == (44, "not this")
        assert owner.failures == []
        assert idle(harness)


async def twice(request: Any, context: Context, forward: Any) -> Any:
    await forward(request)
    return await forward(request)


async def silent(request: Any, context: Context, forward: Any) -> None:
    await trio.lowlevel.checkpoint()


async def wrong(request: Any, context: Context, forward: Any) -> Any:
    await forward(request)
    return "text"


async def dropping(request: Any, context: Context, forward: Any) -> None:
    await forward(request)


async def other_request(request: Any, context: Context, forward: Any) -> Any:
    return await forward(WaitRequest())


async def exiting(request: Any, context: Context, forward: Any) -> Any:
    await forward(request)
    raise SystemExit(3)


async def grouped(request: Any, context: Context, forward: Any) -> Any:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(failing)
        nursery.start_soon(failing)


async def failing() -> None:
    await trio.sleep(0.1)
    raise ValueError("bug")


async def generator_exit(request: Any, context: Context, forward: Any) -> Any:
    raise GeneratorExit


async def stray_cancelled(request: Any, context: Context, forward: Any) -> Any:
    with trio.CancelScope() as scope:
        scope.cancel()
        try:
            await trio.sleep_forever()
        except trio.Cancelled as cancelled:
            kept = cancelled
            raise
    raise kept


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (twice, "forward is called again"),
        (silent, "gave NoneType around Echo, want EchoResponse"),
        (wrong, "gave str around Echo, want EchoResponse"),
        (dropping, "gave NoneType around Echo"),
        (other_request, "forwards WaitRequest, want EchoRequest"),
        (exiting, "3"),
        (grouped, "sub-exception"),
        (generator_exit, ""),
        (stray_cancelled, ""),
    ],
)
@pytest.mark.parametrize("handler", [echo, echo_late])
async def test_failing_around_interceptor_is_an_error_response_and_is_reported_to_its_owner(
    autojump_clock: MockClock,
    caplog: pytest.LogCaptureFixture,
    handler: Any,
    broken: Any,
    says: str,
) -> None:
    async with PluginHarness(handlers=[handler]) as harness:
        owner = put(harness, broken)
        for number in range(1, 4):  # its task serves on
            answer = await harness.ask(EchoRequest("x"))
            assert (answer.error_code, answer.error_message) == (-1, None)
            assert len(owner.failures) == number
        error, where = owner.failures[0]
        assert where == "around Echo"
        assert says in str(error)
        assert "interceptor failed" in caplog.text
        assert idle(harness)
        caplog.clear()


async def test_forward_raises_after_the_response_of_the_request(
    autojump_clock: MockClock,
) -> None:
    late: list[Any] = []

    async def keeping(request: EchoRequest, context: Context, forward: Any) -> EchoResponse:
        late.append((forward, request))
        return EchoResponse(text="done")

    async with PluginHarness(handlers=[echo]) as harness:
        put(harness, keeping)
        assert (await harness.ask(EchoRequest())).text == "done"
        forward, request = late.pop()
        with pytest.raises(Exception, match="after the response"):
            await forward(request)


async def test_response_of_an_interceptor_ends_its_forward_that_waits_in_another_task(
    autojump_clock: MockClock,
) -> None:
    ends: list[BaseException] = []

    async with PluginHarness() as harness, trio.open_nursery() as nursery:
        purgatory = waiting(harness)

        async def elsewhere(request: Any, forward: Any) -> None:
            try:
                await forward(request)
            except Exception as error:
                ends.append(error)

        async def hasty(request: Any, context: Context, forward: Any) -> WaitResponse:
            nursery.start_soon(elsewhere, request, forward)
            await trio.sleep(1)
            return WaitResponse(outcome="hasty")

        put(harness, hasty)
        assert (await harness.ask(WaitRequest(60_000))).outcome == "hasty"
        await wait_all_tasks_blocked()
        assert "has been answered" in str(ends[0])
        assert purgatory.waiting == 0
        assert idle(harness)


async def test_deadline_of_an_around_interceptor_does_not_count_time_in_forward(
    autojump_clock: MockClock,
) -> None:
    async def slow(request: WaitRequest, context: Context, forward: Any) -> WaitResponse:
        await trio.sleep(0.6)
        answer: WaitResponse = await forward(request)
        if request.timeout_ms > 20_000:
            await trio.sleep(0.6)
        return answer

    for waits in (False, True):
        async with PluginHarness() as harness:
            waiting(harness, waits=waits)
            owner = put(harness, slow, deadline_s=1)
            assert (await harness.ask(WaitRequest(10_000))).outcome == "time"
            assert owner.failures == []
            late = await harness.ask(WaitRequest(30_000))
            assert late.error_code == ErrorCode.REQUEST_TIMED_OUT
            assert [type(error) for error, _ in owner.failures] == [trio.TooSlowError]
            (interception,) = harness.interceptors._all
            assert (interception.late, interception.refused, interception.errors) == (1, 1, 0)
            assert idle(harness)


async def test_limit_of_an_around_interceptor_does_not_count_calls_that_wait_in_forward(
    autojump_clock: MockClock,
) -> None:
    running, most = 0, 0

    async def counted(request: WaitRequest, context: Context, forward: Any) -> WaitResponse:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await trio.sleep(1)
        running -= 1
        answer: WaitResponse = await forward(request)
        running += 1
        most = max(most, running)
        await trio.sleep(1)
        running -= 1
        return answer

    async with PluginHarness() as harness:
        purgatory = waiting(harness)
        put(harness, counted, limit=2)
        clients = [harness.client() for _ in range(10)]
        for client in clients:
            client.send(WaitRequest(60_000))
        await trio.sleep(5.5)
        assert purgatory.waiting == 10
        assert most == 2
        for client in clients:
            assert (await client.receive(WaitRequest())).outcome == "time"
        assert most == 2
        (interception,) = harness.interceptors._all
        assert interception.limiter is not None
        assert interception.limiter.borrowed_tokens == 0
        assert idle(harness)


async def test_requests_that_wait_for_the_limit_of_an_interceptor_are_parked(
    autojump_clock: MockClock,
) -> None:
    async def hold(request: EchoRequest, context: Context, forward: Any) -> EchoResponse:
        if request.text == "hold":
            await context.parked(trio.sleep, 10)
        return await forward(request)  # type: ignore[no-any-return]

    async with PluginHarness(handlers=[echo]) as harness:
        put(harness, hold, limit=1)
        holding, clients = harness.client(), [harness.client() for _ in range(20)]
        holding.send(EchoRequest("hold"))
        await wait_all_tasks_blocked()
        for client in clients:
            client.send(EchoRequest("x"))
        await trio.sleep(1)
        assert parked(harness) == 21
        clients[3].leave()
        await trio.sleep(1)
        assert parked(harness) == 20

        assert (await holding.receive(EchoRequest())).text == "hold"
        for client in clients[:3] + clients[4:]:
            assert (await client.receive(EchoRequest())).text == "x"
        assert idle(harness)


async def test_timeout_around_forward_removes_the_delayed_response_from_the_purgatory(
    autojump_clock: MockClock,
) -> None:
    async def impatient(request: Any, context: Context, forward: Any) -> WaitResponse:
        with trio.move_on_after(1):
            return await forward(request)  # type: ignore[no-any-return]
        return WaitResponse(outcome="impatient")

    async with PluginHarness() as harness:
        purgatory = waiting(harness)
        put(harness, impatient, order=1)
        put(harness, nothing_more, order=2)
        for _ in range(3):
            began = trio.current_time()
            assert (await harness.ask(WaitRequest(60_000))).outcome == "impatient"
            assert trio.current_time() - began < 1.1
            assert purgatory.waiting == 0
        assert idle(harness)


async def test_leaving_peer_cancels_a_parked_around_interceptor_but_not_a_running_one(
    autojump_clock: MockClock,
) -> None:
    ends: list[str] = []

    async def noted(request: WaitRequest, context: Context, forward: Any) -> Any:
        try:
            await trio.sleep(2)
            ends.append("ran on")
            await context.parked(trio.sleep, 2)
            ends.append("was parked on")
            return await forward(request)
        finally:
            ends.append("ended")

    async with PluginHarness() as harness:
        purgatory = waiting(harness)
        owner = put(harness, noted)
        for at, seen in (
            (1, ["ran on", "ended"]),
            (3, ["ran on", "ended"]),
            (5, ["ran on", "was parked on", "ended"]),
        ):
            client = harness.client()
            client.send(WaitRequest(60_000))
            await trio.sleep(at)
            client.leave()
            await trio.sleep(10)
            assert ends == seen
            assert purgatory.waiting == 0
            ends.clear()
        assert owner.failures == []
        assert idle(harness)


async def test_around_interceptor_that_swallows_cancellation_leaves_no_token_held(
    autojump_clock: MockClock,
) -> None:
    async def swallowing(request: WaitRequest, context: Context, forward: Any) -> WaitResponse:
        try:
            return await forward(request)  # type: ignore[no-any-return]
        except trio.Cancelled:
            return WaitResponse(outcome="swallowed")

    async def shielded(request: WaitRequest, context: Context, forward: Any) -> Any:
        with trio.CancelScope(shield=True):
            return await forward(request) or WaitResponse(outcome="shielded")

    async def raising(request: WaitRequest, context: Context, forward: Any) -> Any:
        try:
            return await forward(request)
        except trio.Cancelled:
            raise ValueError("instead") from None

    for around, failures in ((swallowing, 0), (shielded, 0), (raising, 1)):
        async with PluginHarness() as harness:
            purgatory = waiting(harness)
            owner = put(harness, around)
            for _ in range(2):
                client = harness.client()
                client.send(WaitRequest(60_000))
                await trio.sleep(1)
                client.leave()
                await trio.sleep(1)
                assert purgatory.waiting == 0
                assert idle(harness)
            assert (await harness.ask(WaitRequest(1000))).outcome == "time"
            assert len(owner.failures) == failures * 2


async def test_request_whose_peer_has_left_still_runs_its_interceptors(
    autojump_clock: MockClock,
) -> None:
    began: list[object] = []

    async def noted(request: Any, context: Context, forward: Any) -> Any:
        began.append(request)
        return await forward(request)

    async with PluginHarness(handlers=[echo]) as harness:
        put(harness, noted)
        client = harness.client()
        client.send(EchoRequest())
        client.leave()
        await wait_all_tasks_blocked()
        assert began == [EchoRequest()]
        assert (await harness.ask(EchoRequest("x"))).text == "x"
        assert idle(harness)


async def test_produce_without_acks_stays_without_a_response_behind_interceptors(
    autojump_clock: MockClock,
) -> None:
    @api(ProduceRequest)
    def produce(request: ProduceRequest, context: Context) -> ProduceResponse | None:
        return ProduceResponse() if request.acks else None

    async def answering(request: Any, context: Context, forward: Any) -> Any:
        return await forward(request) or ProduceResponse()

    async with PluginHarness(handlers=[produce]) as harness:
        owners = [put(harness, nothing_more), put(harness, answering)]
        assert await harness.ask(ProduceRequest(acks=0)) is None
        assert await harness.ask(ProduceRequest(acks=1)) is not None
        assert [owner.failures for owner in owners] == [[], []]


async def test_forward_raises_the_error_of_an_api_without_an_error_response(
    autojump_clock: MockClock,
) -> None:
    @api(ReadRequest)
    def read(request: ReadRequest, context: Context) -> ReadResponse:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)

    async def mending(request: ReadRequest, context: Context, forward: Any) -> ReadResponse:
        try:
            return await forward(request)  # type: ignore[no-any-return]
        except KafkaError:
            return ReadResponse(memoryview(b"mended"))

    async with PluginHarness(handlers=[read]) as harness:
        owner = put(harness, nothing_more)
        with pytest.raises(ClosedError, match="no error answer"):
            await harness.client().ask(ReadRequest())
        assert owner.failures == []
        put(harness, mending, order=1)
        put(harness, nothing_more, order=0)
        assert bytes((await harness.ask(ReadRequest())).data) == b"mended"


async def test_records_of_a_request_stay_intact_while_an_interceptor_is_parked(
    autojump_clock: MockClock,
) -> None:
    read: list[bytes] = []

    @api(ProduceRequest)
    def produce(request: ProduceRequest, context: Context) -> ProduceResponse:
        records = request.topic_data[0].partition_data[0].records
        assert records is not None
        read.append(bytes(records))
        return ProduceResponse()

    async def late(request: Any, context: Context, forward: Any) -> Any:
        await context.parked(trio.sleep, 1)
        return await forward(request)

    from trio_kafka.protocol.messages.k00_produce import PartitionProduceData, TopicProduceData

    def request(n: int) -> ProduceRequest:
        data = PartitionProduceData(0, memoryview(bytes([n]) * 1000))
        return ProduceRequest(acks=1, topic_data=[TopicProduceData("t", partition_data=[data])])

    async with PluginHarness(handlers=[produce]) as harness:
        put(harness, late)
        clients = [harness.client() for _ in range(50)]
        for n, client in enumerate(clients):
            client.send(request(n), 9)
        for client in clients:
            await client.receive(ProduceRequest(), 9)
        assert sorted(read) == [bytes([n]) * 1000 for n in range(50)]


async def test_calls_of_around_interceptors_leave_no_reference_cycles(
    autojump_clock: MockClock,
) -> None:
    def live_objects() -> list[object]:
        kinds = (_AroundCall, Context, Delayed, WaitRequest)
        return [item for item in gc.get_objects() if type(item) in kinds]

    async def failing_around(request: WaitRequest, context: Context, forward: Any) -> Any:
        await forward(request)
        raise KafkaError(ErrorCode.POLICY_VIOLATION)

    async with PluginHarness() as harness:
        waiting(harness)
        put(harness, nothing_more)
        gc.collect()
        before = len(live_objects())
        gc.disable()
        try:
            clients = [harness.client() for _ in range(10)]
            for client in clients[:5]:
                await client.ask(WaitRequest(10))
            put(harness, failing_around)
            for client in clients[:5]:
                await client.ask(WaitRequest(10))
            for client in clients[5:]:
                client.send(WaitRequest(60_000))
            await trio.sleep(1)
            for client in clients[5:]:
                client.leave()
            await trio.sleep(1)
            assert idle(harness)
            assert len(live_objects()) == before
        finally:
            gc.enable()


async def test_around_interceptor_may_leave_a_request_without_a_response(
    autojump_clock: MockClock,
) -> None:
    async def silent(request: EchoRequest, context: Context, forward: Any) -> Any:
        return NO_ANSWER if request.text == "drop" else await forward(request)

    world = simulated_world()
    async with running_plane(world, [echo]) as plane, connected(world, plane.endpoint) as client:
        owner = put_around(plane, silent, EchoRequest)
        await client.send(request_frame(EchoRequest("drop"), 1, correlation=1))
        await client.send(request_frame(EchoRequest("more"), 1, correlation=2))

        correlation, answer = await client.receive_answer(EchoResponse, 1)

        assert (correlation, answer.text) == (2, "more")
        assert owner.failures == []
        assert plane.group.limiter.borrowed_tokens == 0


async def test_around_interceptor_may_return_encoded_bytes(autojump_clock: MockClock) -> None:
    async def encoded(request: EchoRequest, context: Context, forward: Any) -> Encoded:
        return Encoded(to_bytes(await forward(request), context.version))

    world = simulated_world()
    async with running_plane(world, [echo]) as plane, connected(world, plane.endpoint) as client:
        owner = put_around(plane, encoded, EchoRequest)

        assert (await client.ask(EchoRequest("a"), 1)).text == "a"
        assert owner.failures == []
