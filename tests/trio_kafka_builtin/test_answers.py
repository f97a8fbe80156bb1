"""Bodies of requests to the apps of these plugins."""

from typing import Any

import pytest

from trio_kafka_builtin.answers import HttpError, read_json


def receiving(*messages: dict[str, Any]) -> Any:
    left = list(messages)

    async def receive() -> Any:
        return left.pop(0)

    return receive


def piece(body: bytes, *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


async def test_a_body_comes_in_pieces() -> None:
    receive = receiving(piece(b'{"a"', more=True), piece(b": 1}"))

    assert await read_json(receive, 8) == {"a": 1}


@pytest.mark.parametrize(
    ("messages", "status", "why"),
    [
        ([piece(b"[1,", more=True), piece(b"2]")], 413, "larger than 4"),
        ([piece(b"[", more=True), {"type": "http.disconnect"}], 400, "has left"),
        ([piece(b"[")], 400, "no JSON"),
        ([piece(b"\xff")], 400, "no JSON"),
    ],
)
async def test_a_body_that_is_none(messages: list[Any], status: int, why: str) -> None:
    with pytest.raises(HttpError, match=why) as raised:
        await read_json(receiving(*messages), 4)

    assert raised.value.status == status


async def test_a_body_that_is_too_deep_is_no_json() -> None:
    with pytest.raises(HttpError, match="no JSON"):
        await read_json(receiving(piece(b"[" * 100_000)), 1_000_000)
