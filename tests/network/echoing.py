"""A handler that echoes, requests to it and what came back."""

from trio_kafka.plugin import Context, api
from trio_kafka.testing.sample_apis import (
    EchoRequest,
    EchoResponse,
)
from trio_kafka.testing.scripted_client import (
    ScriptedClient,
    request_frame,
)


@api(EchoRequest)
def echo(request: EchoRequest, context: Context) -> EchoResponse | None:
    """Texts that begin with a dash get no answer."""
    del context
    if request.text.startswith("-"):
        return None
    return EchoResponse(text=request.text, number=request.number)


def echoes(count: int, start: int = 0, text: str = "x") -> bytes:
    return b"".join(
        request_frame(EchoRequest(text, number), 0, correlation=number)
        for number in range(start, start + count)
    )


async def numbers(client: ScriptedClient, count: int) -> list[int]:
    return [(await client.receive_answer(EchoResponse, 0))[0] for _ in range(count)]
