"""Handlers that echo and that wait, requests to them and what came back."""

from collections.abc import Awaitable, Callable

import trio

from trio_kafka.plugin import Context, api
from trio_kafka.purgatory import Delayed
from trio_kafka.testing.planes import RunningPlane
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse, WaitRequest, WaitResponse
from trio_kafka.testing.scripted_client import ScriptedClient, request_frame


@api(EchoRequest)
def echo(request: EchoRequest, context: Context) -> EchoResponse | None:
    """Texts that begin with a dash get no answer."""
    del context
    if request.text.startswith("-"):
        return None
    return EchoResponse(text=request.text, number=request.number)


def waiting(
    wait: Callable[[], Awaitable[object]], outcome: str = "", *, parked: bool = False
) -> Callable[..., Awaitable[WaitResponse]]:
    """A handler of WaitRequest that waits so. parked: its request is, meanwhile."""

    @api(WaitRequest)
    async def serve(request: WaitRequest, context: Context) -> WaitResponse:
        del request
        await (context.parked(wait) if parked else wait())
        return WaitResponse(outcome=outcome)

    return serve


def delaying(
    planes: list[RunningPlane], outcome: Callable[[bool], str | None]
) -> Callable[..., Delayed]:
    """A handler of WaitRequest that parks it in the purgatory of the first of these planes, under
    the key "event". outcome: of whether the request has timed out; None: it waits on.
    """

    @api(WaitRequest)
    def serve(request: WaitRequest, context: Context) -> Delayed:
        del context

        def try_complete(timed_out: bool) -> WaitResponse | None:
            text = outcome(timed_out)
            return None if text is None else WaitResponse(outcome=text)

        deadline = trio.current_time() + request.timeout_ms / 1000
        return Delayed(("event",), deadline, try_complete, purgatory=planes[0].purgatory)

    return serve


def echoes(count: int, start: int = 0, text: str = "x") -> bytes:
    return b"".join(
        request_frame(EchoRequest(text, number), 0, correlation=number)
        for number in range(start, start + count)
    )


async def numbers(client: ScriptedClient, count: int) -> list[int]:
    return [(await client.receive_answer(EchoResponse, 0))[0] for _ in range(count)]
