"""Plain interceptors: what they see, what they may give, and what they may do wrong."""

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.requests.leases import CountedLease
from tests.requests.work import in_slices
from trio_kafka.controls.interceptors import RecordingOwner
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError, LogDirError, ProtocolError
from trio_kafka.pending import NO_ANSWER
from trio_kafka.plugin import Context, Encoded, api, lazily
from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.messages.k00_produce import ProduceRequest, ProduceResponse
from trio_kafka.protocol.messages.k01_fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from trio_kafka.protocol.schema import array, int16, request, response, string, struct
from trio_kafka.purgatory import Delayed, Purgatory
from trio_kafka.records.file_range import FileRange
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.testing.direct import ClosedError, DirectClient
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.sample_apis import (
    EchoRequest,
    EchoResponse,
    ReadRequest,
    ReadResponse,
    WaitResponse,
)
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld
from trio_kafka.world.world import World


@api(EchoRequest)
def echo(request: EchoRequest, context: Context) -> EchoResponse:
    if request.text == "refused":
        raise KafkaError(ErrorCode.NOT_COORDINATOR, "elsewhere")
    if request.text == "bug":
        raise ValueError(request.text)
    return EchoResponse(text=request.text)


@api(EchoRequest)
async def echo_late(request: EchoRequest, context: Context) -> EchoResponse:
    await trio.sleep(0.001)
    return echo(request, context)


@api(EchoRequest)
def echo_bytes(request: EchoRequest, context: Context) -> Encoded:
    return Encoded(to_bytes(echo(request, context), context.version))


@api(EchoRequest)
@in_slices
def echo_in_steps(request: EchoRequest, context: Context) -> Steps[EchoResponse]:
    yield
    return echo(request, context)


def echo_parked(harness: PluginHarness, *, steps: bool = False) -> Any:
    """A handler that delays all it gets."""
    purgatory: list[Purgatory] = []

    @api(EchoRequest)
    def parked(request: EchoRequest, context: Context) -> Delayed:
        if not purgatory:
            purgatory.append(Purgatory("Echo", harness.timers, harness.node))

        def outcome(timed_out: bool) -> Any:
            if not timed_out:
                return None
            return echo_in_steps(request, context) if steps else echo(request, context)

        return Delayed((), trio.current_time() + 1, outcome, purgatory=purgatory[0])

    return parked


HANDLERS = [echo, echo_late, echo_bytes, echo_in_steps]


@asynccontextmanager
async def served(handler: Any, world: World | None = None) -> AsyncIterator[PluginHarness]:
    async with PluginHarness(handlers=[handler], world=world) as harness:
        yield harness


def put(
    harness: PluginHarness, kind: Any, function: Any, *, order: int = 1, **more: Any
) -> RecordingOwner:
    owner = RecordingOwner()
    harness.interceptors.add(kind, more.pop("request", None), function, order=order, owner=owner)
    return owner


def adding(mark: str) -> Any:
    """An `after` that writes its mark into the answer."""

    def add(request: Any, response: EchoResponse, context: Context) -> EchoResponse:
        return EchoResponse(response.error_code, response.error_message, response.text + mark)

    return add


@pytest.mark.parametrize("handler", HANDLERS)
async def test_after_interceptors_replace_the_response_of_every_kind_of_handler(
    autojump_clock: MockClock, handler: Any
) -> None:
    async with served(handler) as harness:
        put(harness, "after", adding("c"), order=3)
        put(harness, "after", adding("a"), order=5)
        put(harness, "after", adding("b"), order=4)

        assert (await harness.ask(EchoRequest("x-"))).text == "x-abc"
        refused = await harness.ask(EchoRequest("refused"))
        assert (refused.error_code, refused.error_message) == (16, "elsewhere")
        assert refused.text == "refusedabc"
        assert (await harness.ask(EchoRequest("bug"))).error_code == -1
        assert harness.counters.value("request_errors", api="Echo", error="NOT_COORDINATOR") == 1


@pytest.mark.parametrize("steps", [False, True])
async def test_after_interceptors_see_the_response_of_a_parked_request(
    autojump_clock: MockClock, steps: bool
) -> None:
    async with PluginHarness() as harness:
        registered = harness.add(echo_parked(harness, steps=steps))
        put(harness, "after", adding("a"))
        began = trio.current_time()

        assert (await harness.ask(EchoRequest("x-"))).text == "x-a"
        assert trio.current_time() - began >= 1
        assert (await harness.ask(EchoRequest("refused"))).text == "refuseda"
        assert registered is None


async def test_after_interceptor_may_change_the_response_in_place(
    autojump_clock: MockClock,
) -> None:
    def louder(request: Any, response: EchoResponse, context: Context) -> None:
        response.text = response.text.upper()

    for handler in HANDLERS:
        async with served(handler) as harness:
            put(harness, "after", louder)
            assert (await harness.ask(EchoRequest("hello"))).text == "HELLO"


@pytest.mark.parametrize("handler", HANDLERS)
async def test_before_interceptor_may_change_answer_or_refuse_the_request(
    autojump_clock: MockClock, handler: Any
) -> None:
    seen: list[str] = []

    def first(request: EchoRequest, context: Context) -> None:
        seen.append(f"first {request.text}")
        request.text += "!"

    def second(request: EchoRequest, context: Context) -> EchoResponse | None:
        seen.append(f"second {request.text}")
        if request.text.startswith("short"):
            return EchoResponse(text="here")
        if request.text.startswith("no"):
            raise KafkaError(ErrorCode.POLICY_VIOLATION, "not this")
        return None

    def third(request: EchoRequest, context: Context) -> None:
        seen.append(f"third {request.text}")

    async with served(handler) as harness:
        put(harness, "after", adding("-outer"), order=0)
        owners = [
            put(harness, "before", function, order=n)
            for n, function in enumerate((first, second), 1)
        ]
        put(harness, "after", adding("-inner"), order=3)
        put(harness, "before", third, order=4)

        assert (await harness.ask(EchoRequest("a"))).text == "a!-inner-outer"
        assert (await harness.ask(EchoRequest("short"))).text == "here-outer"
        refused = await harness.ask(EchoRequest("no"))
        assert (refused.error_code, refused.error_message) == (44, "not this")
        assert seen == [
            *("first a", "second a!", "third a!"),
            *("first short", "second short!"),
            *("first no", "second no!"),
        ]
        assert [owner.failures for owner in owners] == [[], []]
        figures = harness.interceptors._all[2].figures()
        assert (figures["calls"], figures["refused"], figures["errors"]) == (3, 1, 0)


def raising(error: BaseException) -> Any:
    def fail(*arguments: object) -> Any:
        raise error

    return fail


def giving(value: object) -> Any:
    return lambda *arguments: value


async def nobody_awaits(*arguments: object) -> None: ...


BROKEN = {
    "an exception": raising(ValueError("bug")),
    "SystemExit": raising(SystemExit(3)),
    "GeneratorExit": raising(GeneratorExit()),
    "CancelledError": raising(asyncio.CancelledError()),
    "a group": raising(ExceptionGroup("two", [ValueError(), TypeError()])),
    "a base group": raising(BaseExceptionGroup("two", [SystemExit(), ValueError()])),
    "another type": giving("text"),
    "another response": giving(WaitResponse()),
    "bytes": giving(Encoded(b"")),
    "a coroutine": lambda *arguments: nobody_awaits(),
    "a request": lambda request, *arguments: request,
    "False": giving(False),
}


@pytest.mark.parametrize("kind", ["before", "after"])
@pytest.mark.parametrize("broken", BROKEN)
async def test_failing_interceptor_is_an_error_response_and_is_reported_to_its_owner(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture, kind: str, broken: str
) -> None:
    for handler in (echo, echo_late):
        async with served(handler) as harness:
            outer, inner = [], []
            put(harness, "after", lambda q, a, c: outer.append(a.error_code), order=0)  # noqa: B023
            owner = put(harness, kind, BROKEN[broken], order=1)
            put(harness, "after", lambda q, a, c: inner.append(a.error_code), order=2)  # noqa: B023
            answer = await harness.ask(EchoRequest("x"))

            assert (answer.error_code, answer.error_message) == (-1, None)
            ((error, where),) = owner.failures
            assert where == f"{kind} Echo"
            assert outer == [-1]
            assert inner == ([] if kind == "before" else [0])
            if "raise" not in broken and not isinstance(error, BaseExceptionGroup | SystemExit):
                assert str(error) == str(owner.failures[0][0])
            assert "interceptor failed" in caplog.text
            figures = harness.interceptors._all[1].figures()
            assert (figures["calls"], figures["errors"]) == (1, 1)


async def test_trio_cancelled_raised_by_an_interceptor_is_an_error_response(
    autojump_clock: MockClock,
) -> None:
    kept: list[BaseException] = []

    async def get_one() -> None:
        with trio.CancelScope() as scope:
            scope.cancel()
            try:
                await trio.sleep_forever()
            except trio.Cancelled as cancelled:
                kept.append(cancelled)
                raise

    await get_one()
    async with served(echo) as harness:
        owner = put(harness, "before", raising(kept[0]))
        assert (await harness.ask(EchoRequest())).error_code == -1
        assert isinstance(owner.failures[0][0], trio.Cancelled)
        kept.clear()


@pytest.mark.parametrize("kind", ["before", "after"])
async def test_intended_errors_of_an_interceptor_are_not_reported_as_its_failures(
    autojump_clock: MockClock, kind: str
) -> None:
    async with served(echo) as harness:
        owner = put(harness, kind, raising(LogDirError("/data", "broken")))
        assert (await harness.ask(EchoRequest())).error_code == 56
        assert owner.failures == []
    async with served(echo) as harness:
        owner = put(harness, kind, raising(ProtocolError("not like this")))
        with pytest.raises(ClosedError, match="forbidden: Echo: not like this"):
            await harness.ask(EchoRequest())
        assert owner.failures == []
    with pytest.raises(InvariantError):
        async with served(echo) as harness:
            put(harness, kind, raising(InvariantError("two leaders")))
            await harness.ask(EchoRequest())
    with pytest.raises(KeyboardInterrupt):
        async with served(echo) as harness:
            put(harness, kind, raising(KeyboardInterrupt()))
            await harness.ask(EchoRequest())


@pytest.mark.parametrize("kind", ["before", "after"])
async def test_failing_interceptor_of_an_api_without_error_response_loses_the_connection(
    autojump_clock: MockClock, kind: str
) -> None:
    @api(ReadRequest)
    def read(request: ReadRequest, context: Context) -> ReadResponse:
        return ReadResponse()

    async with served(read) as harness:
        owner = put(harness, kind, raising(ValueError("bug")))
        with pytest.raises(ClosedError, match="no error answer"):
            await harness.ask(ReadRequest())
        assert len(owner.failures) == 1
        assert harness.counters.total("request_errors") == 1


async def test_error_of_an_owner_in_its_failure_report_is_contained(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    class Worse(RecordingOwner):
        def failed(self, error: BaseException, where: str) -> None:
            raise LookupError

    async with served(echo) as harness:
        harness.interceptors.add("before", None, raising(ValueError()), order=1, owner=Worse())
        assert (await harness.ask(EchoRequest())).error_code == -1
    assert "owner rejected failure report" in caplog.text


@pytest.mark.parametrize("kind", ["before", "after"])
async def test_interceptor_that_responds_itself_loses_the_connection(
    autojump_clock: MockClock, kind: str
) -> None:
    def by_itself(request: Any, *rest: Any) -> None:
        context = rest[-1]
        context.request.respond((b"\0\0\0\4nope",))

    def innocent(*arguments: object) -> None: ...

    async with served(echo) as harness:
        client = harness.client()
        owner = put(harness, kind, by_itself, order=1)
        others = [put(harness, kind, innocent, order=order) for order in (0, 2)]
        await trio.sleep(1)  # when no time at all has passed a request looks unanswered
        client.send(EchoRequest())
        with pytest.raises(ClosedError, match="blamed answered the request itself"):
            client.send(EchoRequest())
        assert len(owner.failures) == 1
        assert [other.failures for other in others] == [[], []]


async def test_after_interceptors_do_not_see_requests_without_a_response(
    autojump_clock: MockClock,
) -> None:
    seen: list[object] = []

    @api(ProduceRequest)
    def silent(request: ProduceRequest, context: Context) -> Delayed | None:
        if request.timeout_ms:
            return Delayed((), trio.current_time() + 1, lambda _: NO_ANSWER, purgatory=waits[0])
        return None

    def answering(request: ProduceRequest, context: Context) -> ProduceResponse | None:
        return ProduceResponse() if request.transactional_id else None

    async with served(silent) as harness:
        waits = [Purgatory("Produce", harness.timers, harness.node)]
        put(harness, "after", lambda *them: seen.append(them), order=1)
        put(harness, "before", answering, order=2)
        assert await harness.ask(ProduceRequest(acks=0)) is None
        assert await harness.ask(ProduceRequest(acks=0, timeout_ms=1)) is None
        assert await harness.ask(ProduceRequest(acks=0, transactional_id="t")) is None
        assert seen == []
        assert await harness.ask(ProduceRequest(acks=1, transactional_id="t")) is not None
        assert len(seen) == 1


@struct
class Row:
    names: list[str] = array(string)


@request(key=10103, versions="0")
class ListRequest:
    """Wants many."""


@struct
class Column:
    rows: list[Row] = array(Row)


@response(ListRequest)
class ListResponse:
    error_code: int = int16()
    columns: list[Column] = array(Column)


@pytest.mark.parametrize("encoded", [False, True])
async def test_lazy_arrays_are_lists_for_an_after_interceptor(
    autojump_clock: MockClock, encoded: bool
) -> None:
    @api(ListRequest)
    def listing(request: ListRequest, context: Context) -> Any:
        def rows(column: int) -> Column:
            return Column(lazily(range(50), lambda row: Row([f"{column}-{row}"])))

        response = ListResponse(columns=lazily(range(300), rows))
        return Encoded(to_bytes(response, 0)) if encoded else response

    def change(request: Any, response: ListResponse, context: Context) -> None:
        assert type(response.columns) is list
        response.columns[299].rows[49].names.append("here")

    async with served(listing) as harness:
        owner = put(harness, "after", change)
        answer = await harness.ask(ListRequest())
        assert owner.failures == []
        assert answer.columns[299].rows[49].names == ["299-49", "here"]
        assert answer.columns[0].rows[0].names == ["0-0"]


class Lease:
    """Of a file that nobody has."""

    key, end, cut = 0, 10, False

    def __init__(self) -> None:
        self.released = False

    def release(self) -> None:
        self.released = True


@pytest.mark.parametrize("how", ["replaced", "failed", "kept"])
async def test_file_ranges_of_a_response_that_an_after_interceptor_drops_are_released(
    autojump_clock: MockClock, how: str
) -> None:
    lease = Lease()

    @api(ReadRequest)
    def read(request: ReadRequest, context: Context) -> ReadResponse:
        return ReadResponse(FileRange(lease, 0, 0))  # type: ignore[arg-type]

    def after(request: Any, response: ReadResponse, context: Context) -> ReadResponse:
        if how == "failed":
            raise ValueError
        return ReadResponse(response.data if how == "kept" else memoryview(b"other"))

    async with served(read) as harness:
        put(harness, "after", after)
        client = harness.client()
        client.send(ReadRequest())
        await trio.sleep(1)

        assert lease.released is (how != "kept")


async def test_plain_interceptor_over_its_deadline_is_reported_but_not_ended(
    autojump_clock: MockClock,
) -> None:
    async with served(echo, RealWorld(SkippingClock())) as harness:
        owner = RecordingOwner()
        interception = harness.interceptors.add(
            "before", None, lambda *_: None, order=1, owner=owner, deadline_s=10
        )
        assert (await harness.ask(EchoRequest())).error_code == 0
        assert owner.failures == []
        interception.deadline_s = 1e-9
        interception.alarm_s = 0.0
        assert (await harness.ask(EchoRequest())).error_code == 0
        assert (await harness.ask(EchoRequest())).error_code == 0
        assert interception.late == 2
        assert [type(error) for error, _ in owner.failures] == [trio.TooSlowError] * 2


async def test_time_of_plain_interceptors_is_counted(autojump_clock: MockClock) -> None:
    async with served(echo, RealWorld(SkippingClock())) as harness:
        put(harness, "before", lambda *_: None)
        put(harness, "after", lambda *_: None)
        client = harness.client()
        request = client.send(EchoRequest())
        await client.receive(EchoRequest())
        ones = harness.interceptors._all

        assert request.stamps.plugin_s > 0
        assert [interception.calls for interception in ones] == [1, 1]
        assert all(0 < interception.longest_s <= interception.seconds for interception in ones)
        assert sum(interception.seconds for interception in ones) <= request.stamps.plugin_s * 1.01


async def test_parked_request_finishes_with_the_interceptors_of_its_start(
    autojump_clock: MockClock,
) -> None:
    async with PluginHarness() as harness:
        harness.add(echo_parked(harness))
        owner = RecordingOwner()
        old = harness.interceptors.add("after", None, adding("old"), order=1, owner=owner)
        client, other = harness.client(), harness.client()
        client.send(EchoRequest())
        harness.interceptors.remove(old)
        new = harness.interceptors.add("after", None, adding("new"), order=1, owner=owner)

        assert (await other.ask(EchoRequest())).text == "new"
        assert (await client.receive(EchoRequest())).text == "old"
        assert (old.calls, new.calls) == (1, 1)
        gone = weakref.ref(old)
        del old
        gc.collect()
        assert gone() is None


async def test_request_that_an_interceptor_keeps_does_not_keep_its_frame(
    autojump_clock: MockClock,
) -> None:
    kept: list[Any] = []
    data = b"r" * 100_000

    @api(ProduceRequest)
    def produce(request: ProduceRequest, context: Context) -> ProduceResponse:
        return ProduceResponse()

    async with served(produce) as harness:
        put(harness, "before", lambda request, context: kept.append((request, context)))
        clients: list[DirectClient] = [harness.client() for _ in range(3)]
        for _ in range(20):
            for client in clients:
                await client.ask(ProduceRequest(acks=1, transactional_id=data.decode()[:30000]))
        assert len(kept) == 60
        assert len({request.transactional_id for request, _ in kept}) == 1
        assert all(context.request.frame is None for _, context in kept)


async def test_response_is_released_when_its_handler_group_ends_before_an_after_interceptor(
    autojump_clock: MockClock,
) -> None:
    leases = [CountedLease() for _ in range(5000)]

    @api(FetchRequest)
    def fetch(request: FetchRequest, context: Context) -> FetchResponse:
        lazily([1], str)  # so that arrays of the response are looked at before it is shown
        rows = [PartitionData(records=FileRange(lease, 0, 5)) for lease in leases]  # type: ignore[arg-type]
        topics = [FetchableTopicResponse(partitions=[row]) for row in rows]
        return FetchResponse(responses=topics)

    async with served(fetch, RealWorld(SkippingClock())) as harness:
        put(harness, "after", lambda *_: None)
        assert harness._group is not None
        group = harness._group.group
        others = [object() for _ in range(8)]
        assert all(map(group.limiter.take_nowait, others))
        harness.client().send(FetchRequest(), 12)
        await wait_all_tasks_blocked()
        assert group.limiter.waiting == 1  # the rest of its steps waits for a token
        assert not any(lease.released for lease in leases)
        assert group._nursery is not None
        group._nursery.cancel_scope.cancel()
        await wait_all_tasks_blocked()

        assert all(lease.released for lease in leases)
        for other in others:
            group.limiter.give_back(other)
