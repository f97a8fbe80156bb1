"""Coroutines around requests, and an owner that keeps what they raise."""

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from trio_kafka.controls.api_limits import ApiLimits
from trio_kafka.controls.interceptors import Forward, Interceptors, RecordingOwner
from trio_kafka.controls.running import KIT_CLIENT
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.plugin import Context, api
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse, WaitRequest, WaitResponse


@api(EchoRequest)
def echo(request: EchoRequest, context: Context) -> EchoResponse:
    return EchoResponse(text=request.text)


@api(WaitRequest)
def wait(request: WaitRequest, context: Context) -> WaitResponse:
    return WaitResponse()


def test_recording_owner_keeps_failures_with_their_place() -> None:
    owner = RecordingOwner()
    error = ValueError("x")

    owner.failed(error, "before Echo")

    assert owner.failures == [(error, "before Echo")]


async def test_interceptor_delays_and_changes_the_response_until_its_removal(
    autojump_clock: MockClock,
) -> None:
    async with PluginHarness(handlers=[echo, wait]) as harness:
        interceptors, event = Interceptors(harness), trio.Event()

        @interceptors.on("Echo")
        async def slow(request: EchoRequest, context: Context, forward: Forward) -> EchoResponse:
            await event.wait()
            answer: EchoResponse = await forward(request)
            answer.number = 7
            return answer

        client = harness.client("c")
        client.send(EchoRequest("a"))
        await wait_all_tasks_blocked()
        assert (await harness.ask(WaitRequest())).error_code == 0
        event.set()
        answer = await client.receive(EchoRequest())

        assert (answer.text, answer.number, slow.calls) == ("a", 7, 1)
        assert (await harness.ask(EchoRequest("b"), client_id=KIT_CLIENT)).number == 0
        slow.remove()
        slow.remove()
        assert (await harness.ask(EchoRequest("c"))).number == 0
        assert len(harness.interceptors) == 0


async def test_a_coroutine_of_an_api_that_is_switched_off_sees_no_request_of_another_api(
    autojump_clock: MockClock,
) -> None:
    async with PluginHarness(handlers=[echo, wait]) as harness:
        interceptors, limits = Interceptors(harness), ApiLimits(harness)
        limit = limits.switch_off("Echo")

        @interceptors.on("Echo")
        async def refuse(request: object, context: Context, forward: Forward) -> object:
            await trio.lowlevel.checkpoint()
            raise KafkaError(ErrorCode.INVALID_REQUEST, "no")

        other = await harness.ask(WaitRequest())
        calls_while_off = refuse.calls
        limit.remove()
        answer = await harness.ask(EchoRequest("a"))

        assert (other.error_code, calls_while_off) == (0, 0)
        assert (answer.error_code, refuse.calls) == (ErrorCode.INVALID_REQUEST, 1)


async def test_interceptor_for_all_apis_is_removed_at_the_end_of_its_block(
    autojump_clock: MockClock,
) -> None:
    async with PluginHarness(handlers=[echo, wait]) as harness:
        interceptors = Interceptors(harness)

        async def fails(request: object, context: Context, forward: Forward) -> object:
            raise LookupError(type(request).__name__)

        with interceptors.on()(fails):
            assert (await harness.ask(EchoRequest())).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
            assert (await harness.ask(WaitRequest())).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        assert (await harness.ask(EchoRequest())).error_code == 0
        assert [(str(error), where) for error, where in interceptors.failures] == [
            ("EchoRequest", "around Echo"),
            ("WaitRequest", "around Wait"),
        ]
        interceptors.on("Wait")(fails)
        interceptors.clear()
        assert (await harness.ask(WaitRequest())).error_code == 0
