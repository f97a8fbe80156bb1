"""Links as functions: whatever an interceptor of several does, and whenever they are timed."""

import traceback
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.plugin import Context, api
from trio_kafka.requests.interceptors.registry import Interception
from trio_kafka.requests.interceptors.unrolled import EVERY
from trio_kafka.testing.direct import ClosedError
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.interceptors import Blamed
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse, ReadRequest, ReadResponse

ASKED = 3 * EVERY + 1


@api(EchoRequest)
def echo(request: EchoRequest, context: Context) -> EchoResponse:
    return EchoResponse(text=request.text)


@api(EchoRequest)
async def echo_late(request: EchoRequest, context: Context) -> EchoResponse:
    await trio.lowlevel.checkpoint()
    return echo(request, context)


def nothing(*arguments: object) -> None: ...


def put(harness: PluginHarness, kind: Any, function: Any, **more: Any) -> Interception:
    given = {"order": 100, "owner": Blamed(), **more}
    return harness.interceptors.add(kind, EchoRequest, function, **given)


def failures(*ones: Interception) -> list[int]:
    return [len(one.owner.failures) for one in ones]  # type: ignore[attr-defined]


@pytest.mark.parametrize("handler", [echo, echo_late])
async def test_every_call_is_counted_also_of_routes_that_are_made_anew(
    autojump_clock: MockClock, handler: Any
) -> None:
    async with PluginHarness(handlers=[handler]) as harness:
        ones = [put(harness, kind, nothing) for kind in ("before", "after") * 3]
        for _ in range(ASKED):
            await harness.ask(EchoRequest("x"))
        assert [one.calls for one in ones] == [ASKED] * 6

        other = put(harness, "after", nothing)
        for _ in range(3):
            await harness.ask(EchoRequest("x"))
        assert [one.calls for one in (*ones, other)] == [ASKED + 3] * 6 + [3]
        assert [one.figures()["calls"] for one in ones] == [ASKED + 3] * 6


@pytest.mark.parametrize("at", [0, 1, 2])
async def test_of_several_befores_the_first_answer_ends_the_way(
    autojump_clock: MockClock, at: int
) -> None:
    """Whether its round is timed or not; those before it are counted, those behind it not asked."""

    def answering(request: EchoRequest, context: Context) -> EchoResponse | None:
        if request.text == "raise":
            raise KafkaError(ErrorCode.POLICY_VIOLATION, "no")
        return EchoResponse(text="mine") if request.text == "mine" else None

    async with PluginHarness(handlers=[echo]) as harness:
        seen: list[str] = []
        outer = put(harness, "after", lambda *given: seen.append(given[1].text))
        ones = [put(harness, "before", answering if n == at else nothing) for n in range(3)]
        inner = put(harness, "after", nothing)
        for asked in range(1, ASKED):
            text = ("mine", "raise", "other")[asked % 3]
            answer = await harness.ask(EchoRequest(text))
            assert (answer.text, answer.error_code) == {
                "mine": ("mine", 0),
                "raise": ("raise", 44),
                "other": ("other", 0),
            }[text]
        through = len([text for text in seen if text == "other"])
        assert len(seen) == outer.calls == ASKED - 1
        assert inner.calls == through
        assert [one.calls for one in ones] == [ASKED - 1 if n <= at else through for n in range(3)]
        assert ones[at].refused == (ASKED - 1) // 3
        assert failures(outer, *ones, inner) == [0] * 5


@pytest.mark.parametrize("at", [0, 1, 2])
async def test_of_several_afters_each_sees_what_those_within_have_made(
    autojump_clock: MockClock, at: int
) -> None:
    def changing(request: EchoRequest, response: EchoResponse, context: Context) -> Any:
        if request.text == "bug":
            raise ValueError("bug")
        return EchoResponse(text=response.text + "!") if request.text == "change" else None

    async with PluginHarness(handlers=[echo]) as harness:
        seen: list[tuple[str, int]] = []

        def note(request: Any, response: EchoResponse, context: Context) -> None:
            seen.append((response.text, response.error_code))

        ones = [put(harness, "after", changing if n == at else note) for n in range(3)]
        for asked in range(1, ASKED):
            text = ("change", "bug", "other")[asked % 3]
            seen.clear()
            answer = await harness.ask(EchoRequest(text))
            made = {"change": ("change!", 0), "bug": ("bug", -1), "other": ("other", 0)}[text]
            assert (answer.text, answer.error_code) == made
            assert seen == [(text, 0)] * (2 - at) + [made] * at  # the last is the innermost
        assert [one.calls for one in ones] == [ASKED - 1] * 3
        assert ones[at].errors == (ASKED - 1) // 3


async def test_what_is_returned_is_no_error_of_the_handler(autojump_clock: MockClock) -> None:
    """An exception that is given, not raised, is of the wrong type like anything else."""

    def giving(*arguments: object) -> Any:
        return KafkaError(ErrorCode.POLICY_VIOLATION, "given")

    async with PluginHarness(handlers=[echo]) as harness:
        for kind in ("before", "after"):
            ones = [put(harness, kind, nothing), put(harness, kind, giving)]
            assert (await harness.ask(EchoRequest("x"))).error_code == -1
            assert failures(*ones) == [0, 1]
            for one in ones:
                harness.interceptors.remove(one)


@pytest.mark.parametrize("kind", ["before", "after"])
async def test_a_sample_stands_for_all_but_who_is_alone_or_has_a_deadline_is_always_timed(
    autojump_clock: MockClock, kind: Any
) -> None:
    def slow(*arguments: object) -> None:
        autojump_clock.jump(0.25)

    async with PluginHarness(handlers=[echo]) as harness:
        alone = put(harness, kind, slow)
        for _ in range(3):
            await harness.ask(EchoRequest("x"))
        assert (alone.seconds, alone.longest_s) == (0.75, 0.25)

        beside = put(harness, kind, nothing)
        for _ in range(EVERY - 1):
            await harness.ask(EchoRequest("x"))
        assert alone.seconds == 0.75
        await harness.ask(EchoRequest("x"))
        assert alone.seconds == 0.75 + EVERY * 0.25
        assert (beside.seconds, beside.calls) == (0.0, EVERY)

        strict = put(harness, kind, slow, deadline_s=0.1)
        for _ in range(3):
            await harness.ask(EchoRequest("x"))
        assert (strict.seconds, strict.late) == (0.75, 3)
        assert failures(alone, beside, strict) == [0, 0, 3]


async def test_a_traceback_shows_the_line_that_called(autojump_clock: MockClock) -> None:
    def fail(request: EchoRequest, context: Context) -> None:
        raise ValueError("bug")

    async with PluginHarness(handlers=[echo]) as harness:
        put(harness, "before", nothing)
        one = put(harness, "before", fail)
        await harness.ask(EchoRequest("x"))
        ((error, _),) = one.owner.failures  # type: ignore[attr-defined]
        assert "answer = before_1(message, context)" in "".join(traceback.format_exception(error))


@pytest.mark.parametrize("kind", ["before", "after"])
@pytest.mark.parametrize("at", range(4))
async def test_of_several_the_one_that_raises_is_the_one_that_is_told_of(
    autojump_clock: MockClock, kind: str, at: int
) -> None:
    """Also where the error had come from somewhere else, and in the round that is timed."""
    kept = ValueError("kept")

    def fail(*arguments: object) -> None:
        raise kept.with_traceback(None)

    async with PluginHarness(handlers=[echo]) as harness:
        ones = [put(harness, kind, fail if n == at else nothing, order=n) for n in range(4)]
        for _ in range(EVERY + 1):
            assert (await harness.ask(EchoRequest("x"))).error_code == -1
        wanted = [0] * 4
        wanted[at] = EVERY + 1
        assert failures(*ones) == wanted
        called = range(at + 1) if kind == "before" else range(4)
        assert [one.calls > 0 for one in ones] == [n in called for n in range(4)]


async def test_what_no_answer_can_say_is_laid_to_who_said_it_alone(
    autojump_clock: MockClock,
) -> None:
    @api(ReadRequest)
    def read(request: ReadRequest, context: Context) -> ReadResponse:
        return ReadResponse()

    def wrong(*arguments: object) -> str:
        return "text"

    async with PluginHarness(handlers=[read]) as harness:
        ones = [
            harness.interceptors.add("before", ReadRequest, function, order=order, owner=Blamed())
            for order, function in enumerate((nothing, wrong, nothing))
        ]
        with pytest.raises(ClosedError, match="no error answer"):
            await harness.ask(ReadRequest())
        assert failures(*ones) == [0, 1, 0]
        assert [(one.calls, one.refused) for one in ones] == [(1, 0), (1, 0), (0, 0)]
