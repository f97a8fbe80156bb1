"""The chain of a route: what is left as it is, and how shells lie around one another."""

from typing import Any

import pytest
from trio.testing import MockClock

from trio_kafka.controls.interceptors import RecordingOwner
from trio_kafka.model import code_of
from trio_kafka.plugin import Context, api
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse, WaitRequest


@api(EchoRequest)
def echo(request: EchoRequest, context: Context) -> EchoResponse:
    return EchoResponse(text=f"{request.text} echo")


@api(EchoRequest)
async def echo_late(request: EchoRequest, context: Context) -> EchoResponse:
    return echo(request, context)


def nothing(*arguments: object) -> None: ...


async def test_route_without_interceptors_calls_its_handler_directly(
    autojump_clock: MockClock,
) -> None:
    async with PluginHarness(handlers=[echo]) as harness:
        assert harness._group is not None
        routes = harness._group.group.routes
        of_wait = harness.interceptors.add(
            "before", WaitRequest, nothing, order=1, owner=RecordingOwner()
        )
        route = routes[code_of(10100, 0)]
        assert route is not None
        assert route.handler is echo
        assert not route.waits
        of_echo = harness.interceptors.add(
            "before", EchoRequest, nothing, order=1, owner=RecordingOwner()
        )
        behind = routes[code_of(10100, 0)]
        assert behind is not None
        assert behind.handler is not echo
        for interception in (of_echo, of_wait):
            harness.interceptors.remove(interception)
        again = routes[code_of(10100, 0)]
        assert again is not None
        assert again.handler is echo


@pytest.mark.parametrize("handler", [echo, echo_late])
async def test_interceptors_of_all_kinds_are_nested_by_their_order(
    autojump_clock: MockClock, handler: Any
) -> None:
    def before(name: str) -> Any:
        def note(request: EchoRequest, context: Context) -> None:
            request.text += f" <{name}"

        return note

    def after(name: str) -> Any:
        def note(request: EchoRequest, response: EchoResponse, context: Context) -> None:
            response.text += f" {name}>"

        return note

    def around(name: str) -> Any:
        async def note(request: EchoRequest, context: Context, forward: Any) -> EchoResponse:
            request.text += f" ({name}"
            answer: EchoResponse = await forward(request)
            answer.text += f" {name})"
            return answer

        return note

    async with PluginHarness(handlers=[handler]) as harness:
        for order, (kind, make) in enumerate(
            (
                ("before", before),
                ("after", after),
                ("around", around),
                ("after", after),
                ("before", before),
                ("around", around),
                ("after", after),
            ),
            1,
        ):
            function = make(str(order))
            harness.interceptors.add(kind, None, function, order=order, owner=RecordingOwner())
        text = (await harness.ask(EchoRequest())).text

        assert text == " <1 (3 <5 (6 echo 7> 6) 4> 3) 2>"
