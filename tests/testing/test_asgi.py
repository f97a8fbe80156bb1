"""The ASGI client does what a server would."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from trio_kafka.testing.asgi import IncompleteAnswerError, ask


async def mirror(scope: Any, receive: Any, send: Any) -> None:
    """Answers with what it was asked."""
    pieces = []
    while True:
        message = await receive()
        pieces.append(message["body"])
        if not message["more_body"]:
            break
    headers = [(b"x-host", dict(scope["headers"])[b"host"])]
    await send({"type": "http.response.start", "status": 201, "headers": headers})
    for text in (scope["method"], scope["path"], scope["query_string"].decode(), repr(pieces)):
        await send({"type": "http.response.body", "body": text.encode() + b"|", "more_body": True})
    await send({"type": "http.response.body"})


async def test_app_gets_the_request_and_its_response_is_collected() -> None:
    answer = await ask(mirror, "PUT", "/a%20b?c=d", headers={"Host": "h"}, body=[b"1", b"2"])

    assert (answer.status, answer.headers) == (201, {"x-host": "h"})
    assert answer.body == b"PUT|/a b|c=d|[b'1', b'2']|"
    assert len(answer.chunks) == 5


async def test_json_of_a_response_is_parsed() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": b'{"a": 1}'})

    assert (await ask(app, "GET", "/")).json() == {"a": 1}


async def test_response_without_an_end_is_an_error() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": b"some", "more_body": True})

    with pytest.raises(IncompleteAnswerError, match="GET /x"):
        await ask(app, "GET", "/x")


async def test_client_stays_connected_while_the_app_waits_for_a_disconnect(
    autojump_clock: MockClock,
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        with trio.move_on_after(10):
            await receive()
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body"})

    await ask(app, "GET", "/")

    assert trio.current_time() == 10
