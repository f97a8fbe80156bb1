"""Responses of the app, piece by piece."""

import gzip
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from trio.testing import MockClock

from trio_kafka.testing.asgi import Answer, ask
from trio_kafka_admin.compressed_body import compress
from trio_kafka_admin.page import Place
from trio_kafka_admin.responses import send_body, send_refusal, send_static
from trio_kafka_admin.static_files import StaticFile


async def answer_of(
    method: str, target: str, call: Callable[..., Awaitable[None]], **headers: str
) -> Answer:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await call(scope, send)

    return await ask(app, method, target, headers=headers)


async def test_body_is_sent_with_gzip_only_to_clients_that_accept_it(
    autojump_clock: MockClock,
) -> None:
    text = "".join(map(str, range(50_000))).encode()
    call = partial(send_body, body=await compress([text]), form="json")
    plain = await answer_of("GET", "/", call)
    packed = await answer_of("GET", "/", call, **{"accept-encoding": "br, gzip"})

    assert (plain.status, plain.body) == (200, text)
    assert "content-encoding" not in plain.headers
    assert (packed.status, gzip.decompress(packed.body)) == (200, text)
    assert packed.headers["content-encoding"] == "gzip"
    for answer in (plain, packed):
        assert answer.headers["vary"] == "accept-encoding"
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["content-length"] == str(len(answer.body))
        assert max(map(len, answer.chunks)) < 40_000


async def test_head_request_gets_the_headers_of_a_body_without_the_body(
    autojump_clock: MockClock,
) -> None:
    call = partial(send_body, body=await compress([b"text"]), form="html")
    get, head = await answer_of("GET", "/", call), await answer_of("HEAD", "/", call)

    assert (head.status, head.headers, head.body) == (200, get.headers, b"")


async def test_static_file_is_sent_unless_the_etag_matches(autojump_clock: MockClock) -> None:
    file = StaticFile(b"content", b"text/css", b'"tag"')

    for tag, status, body in (("", 200, b"content"), ('"tag"', 304, b""), ('W/"t"', 200, None)):
        answer = await answer_of(
            "GET", "/", partial(send_static, file=file), **{"if-none-match": tag}
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
