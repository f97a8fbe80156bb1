"""What the app answers with, piece by piece."""

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import trio
from trio.testing import MockClock

from trio_kafka.testing.asgi import Answer, ask
from trio_kafka_admin.markup import Html
from trio_kafka_admin.page import Place
from trio_kafka_admin.responses import send_page, send_refusal, send_static
from trio_kafka_admin.static_files import StaticFile


async def answer_of(
    method: str, target: str, call: Callable[..., Awaitable[None]], **headers: str
) -> Answer:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await call(scope, send)

    return await ask(app, method, target, headers=headers)


async def test_page_is_sent_in_chunks_of_bounded_size(autojump_clock: MockClock) -> None:
    pieces = [Html("x" * 1000)] * 100
    answer = await answer_of("GET", "/", partial(send_page, begun=Html("<begin>"), pieces=pieces))

    assert answer.body == b"<begin>" + b"x" * 100_000
    assert len(answer.chunks) == 6
    assert max(map(len, answer.chunks)) < 18_000


async def test_other_tasks_run_while_page_pieces_are_made(autojump_clock: MockClock) -> None:
    made: list[int] = []
    turns: list[int] = []

    def pieces() -> Iterator[Html]:
        for number in range(100):
            made.append(number)
            yield Html("x")

    async def watch() -> None:
        while len(made) < 100:
            turns.append(len(made))
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch)
        await answer_of("GET", "/", partial(send_page, begun=Html(""), pieces=pieces()))

    assert max(after - before for before, after in pairwise(turns)) <= 16


async def test_head_request_makes_no_page_pieces(autojump_clock: MockClock) -> None:
    pieces = iter([Html("x")])
    answer = await answer_of("HEAD", "/", partial(send_page, begun=Html("<begin>"), pieces=pieces))

    assert (answer.status, answer.body, list(pieces)) == (200, b"", ["x"])


async def test_static_file_is_sent_unless_the_etag_matches(autojump_clock: MockClock) -> None:
    file = StaticFile(b"content", b"text/css", b'"tag"')

    for known, status, body in (("", 200, b"content"), ('"tag"', 304, b""), ('W/"t"', 200, None)):
        answer = await answer_of(
            "GET", "/", partial(send_static, file=file), **{"if-none-match": known}
        )
        assert (answer.status, answer.headers["etag"]) == (status, '"tag"')
        assert body is None or answer.body == body


async def test_refusal_is_json_for_api_paths_and_html_for_pages(
    autojump_clock: MockClock,
) -> None:
    place = Place("/ui")
    for target in ("/ui/api", "/ui/api/tree"):
        refuse = partial(send_refusal, place=place, status=404, message="not <here>")
        answer = await answer_of("GET", target, refuse)
        assert answer.json() == {"error_code": 404, "message": "not <here>"}
    for target in ("/ui", "/ui/tree", "/ui/apis"):
        refuse = partial(send_refusal, place=place, status=503, message="not <now>")
        answer = await answer_of("GET", target, refuse)
        assert b"not &lt;now&gt;" in answer.body
        assert answer.headers["retry-after"] == "1"
