"""Requests that two servers could end at different places: what this plane does with each kind.

The cases hold h11 and hypercorn too: an upgrade that accepts more of them shows here.
"""

from typing import Final

import pytest
import trio
from trio.testing import MockClock

from tests.trio_kafka_http.kit import echo, hello, one_client
from trio_kafka_http.request_framing import framing_error

_BEHIND: Final = b"GET /hello/behind HTTP/1.1\r\nHost: localhost\r\n\r\n"
_CHUNKS: Final = b"4\r\nabcd\r\n0\r\n\r\n"


def post(
    *headers: bytes, body: bytes = b"", version: bytes = b"1.1", end: bytes = b"\r\n"
) -> bytes:
    return end.join([b"POST /echo HTTP/" + version, b"Host: localhost", *headers, b"", body])


def chunked(chunks: bytes) -> bytes:
    return post(b"Transfer-Encoding: chunked", body=chunks)


LENGTH, CHUNKED = b"Content-Length: 4", b"Transfer-Encoding: chunked"
REJECTED: Final = {
    "length before coding": (400, post(LENGTH, CHUNKED, body=_CHUNKS)),
    "coding before length": (400, post(CHUNKED, LENGTH, body=_CHUNKS)),
    "length and coding, to a health check": (
        400,
        post(LENGTH, CHUNKED, body=_CHUNKS).replace(b"POST /echo", b"GET /healthz"),
    ),
    "length and a folded coding": (
        400,
        post(LENGTH, b"Transfer-Encoding:\r\n chunked", body=_CHUNKS),
    ),
    "a coding behind a bare LF": (400, post(b"X: a\nTransfer-Encoding: chunked", LENGTH)),
    "a body that does not end": (400, post(LENGTH, CHUNKED, body=b"5\r\nab")),
    "HTTP/1.0 with a coding": (400, post(CHUNKED, body=_CHUNKS, version=b"1.0")),
    "HTTP/1.0 with a coding, kept alive": (
        400,
        post(b"Connection: keep-alive", CHUNKED, body=_CHUNKS, version=b"1.0"),
    ),
    "two lengths": (400, post(LENGTH, b"Content-Length: 0", body=b"abcd")),
    "a list of lengths": (400, post(b"Content-Length: 4, 0", body=b"abcd")),
    "a length with a sign": (400, post(b"Content-Length: +4", body=b"abcd")),
    "a negative length": (400, post(b"Content-Length: -1")),
    "an empty length": (400, post(b"Content-Length:")),
    "a length of 21 digits": (400, post(b"Content-Length: " + b"4".zfill(21), body=b"abcd")),
    "a length of 5000 digits": (400, post(b"Content-Length: " + b"9" * 5000)),
    "two codings": (501, post(b"Transfer-Encoding: gzip, chunked", body=_CHUNKS)),
    "a coding after chunked": (501, post(b"Transfer-Encoding: chunked, identity", body=_CHUNKS)),
    "chunked twice": (501, post(CHUNKED, CHUNKED, body=_CHUNKS)),
    "the coding identity": (501, post(b"Transfer-Encoding: identity", LENGTH, body=b"abcd")),
    "an empty coding": (501, post(b"Transfer-Encoding:", LENGTH, body=b"abcd")),
    "an unknown coding": (501, post(b"Transfer-Encoding: xchunked", body=_CHUNKS)),
    "a vertical tab before the coding": (400, post(b"Transfer-Encoding: \x0bchunked")),
    "a space before the colon": (400, post(b"Transfer-Encoding : chunked", body=_CHUNKS)),
    "a folded first header": (400, b"POST /echo HTTP/1.1\r\n Host: localhost\r\n\r\n"),
    "a bare CR in a header": (400, post(b"X: a\rContent-Length: 4", body=b"abcd")),
    "a NUL in a header": (400, post(b"X: a\0b")),
    "a chunk size with a prefix": (400, chunked(b"0x4\r\nabcd\r\n0\r\n\r\n")),
    "a chunk size with a sign": (400, chunked(b"-4\r\nabcd\r\n0\r\n\r\n")),
    "a chunk size of 31 digits": (400, chunked(b"4".zfill(31) + b"\r\nabcd\r\n0\r\n\r\n")),
    "a chunk that ends its size with LF": (400, chunked(b"4\nabcd\r\n0\r\n\r\n")),
    "a chunk extension with LF": (400, chunked(b"4;\nxx\r\nabcd\r\n0\r\n\r\n")),
    "a chunk longer than its size": (400, chunked(b"4\r\nabcdef\r\n0\r\n\r\n")),
    "no host": (400, b"POST /echo HTTP/1.1\r\n\r\n"),
    "two hosts": (400, post(b"Host: other")),
    "tabs in the request line": (400, b"GET\t/echo\tHTTP/1.1\r\nHost: localhost\r\n\r\n"),
    "an empty line first": (400, b"\r\n" + post()),
}  # fmt: skip
ACCEPTED: Final = {
    "a chunked body": chunked(_CHUNKS),
    "the same length twice": post(LENGTH, LENGTH, body=b"abcd"),
    "a list of equal lengths": post(b"Content-Length: 4, 4", body=b"abcd"),
    "a folded header": post(b"X: a\r\n b", LENGTH, body=b"abcd"),
    "a folded coding": post(b"Transfer-Encoding:\r\n chunked", body=_CHUNKS),
    "lines that end with LF": post(LENGTH, body=b"abcd", end=b"\n"),
    "a chunk extension": chunked(b"4;a=b\r\nabcd\r\n0\r\n\r\n"),
    "a space after a chunk size": chunked(b"4 \r\nabcd\r\n0\r\n\r\n"),
    "a length in the trailer": chunked(b"4\r\nabcd\r\n0\r\nContent-Length: 99\r\n\r\n"),
    "a length with an underscore": post(b"Content_Length: 99", LENGTH, body=b"abcd"),
}


async def answer_to(sent: bytes) -> bytes:
    """Send all at once, with another request behind; return everything that comes back."""
    async with one_client({"/echo": echo, "/hello": hello}, idle_timeout_ms=3_000) as (_, client):
        await client.send(sent + _BEHIND)
        with trio.fail_after(10):
            return await client.wait_closed()


@pytest.mark.parametrize(("status", "sent"), REJECTED.values(), ids=REJECTED)
async def test_bytes_after_an_ambiguous_request_are_not_served_as_a_request(
    status: int, sent: bytes, autojump_clock: MockClock
) -> None:
    answer = await answer_to(sent)

    head, _, rest = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert b"connection: close" in head.lower()
    assert b"HTTP/1.1" not in rest
    assert b"/hello" not in rest


@pytest.mark.parametrize("sent", ACCEPTED.values(), ids=ACCEPTED)
async def test_unambiguous_request_is_served_together_with_the_next_request(
    sent: bytes, autojump_clock: MockClock
) -> None:
    answer = await answer_to(sent)

    assert answer.count(b"HTTP/1.1 200 ") == 2
    assert answer.index(b"abcd") < answer.index(b"/hello/behind")


async def test_ambiguous_request_with_expect_100_continue_is_rejected(
    autojump_clock: MockClock,
) -> None:
    answer = await answer_to(post(b"Expect: 100-continue", LENGTH, CHUNKED, body=_CHUNKS))

    assert [line[9:12] for line in answer.splitlines() if line.startswith(b"HTTP/")] == [
        b"100",
        b"400",
    ]


async def test_ambiguous_request_with_an_unfinished_body_is_rejected(
    autojump_clock: MockClock,
) -> None:
    async with one_client({"/echo": echo}) as (_, client):
        await client.send(post(LENGTH, CHUNKED, body=b"5\r\nab"))
        with trio.fail_after(10):
            answer = await client.receive()

    assert answer.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    ("version", "names", "error"),
    [
        ("1.1", [], ""),
        ("1.1", [b"content-length"], ""),
        ("1.1", [b"transfer-encoding"], ""),
        ("1.0", [b"content-length"], ""),
        ("1.0", [b"transfer-encoding"], "Transfer-Encoding in a request of HTTP/1.0"),
        (
            "1.1",
            [b"content-length", b"transfer-encoding"],
            "Content-Length together with Transfer-Encoding",
        ),
    ],
)
def test_framing_with_two_lengths_or_an_early_transfer_coding_is_ambiguous(
    version: str, names: list[bytes], error: str
) -> None:
    assert framing_error(version, dict.fromkeys(names, b"")) == error
