"""Compressed bodies: complete, in slices, in chunks of bounded size."""

import gzip
import random
from collections.abc import Iterator
from itertools import pairwise

import pytest
import trio
from trio.testing import MockClock

from trio_kafka_admin.compressed_body import accepts_gzip, compress


@pytest.mark.parametrize(
    "pieces",
    [
        [],
        [b""],
        [b"one piece"],
        [b"<p>words</p>"] * 20_000,
        [random.Random(1).randbytes(1000)] * 3 + [random.Random(2).randbytes(100_000)],
    ],
    ids=["nothing", "empty", "one", "many", "incompressible"],
)
async def test_body_is_complete_in_both_forms(
    autojump_clock: MockClock, pieces: list[bytes]
) -> None:
    body = await compress(pieces, most=8)

    content = b"".join(pieces)
    assert gzip.decompress(b"".join(body.chunks)) == content
    assert b"".join(body.decompressed()) == content
    assert body.size == len(content)
    assert body.compressed_size == sum(map(len, body.chunks))
    assert all(len(piece) <= 16 << 10 for piece in body.decompressed())


async def test_other_tasks_run_while_a_body_is_compressed(autojump_clock: MockClock) -> None:
    begun: list[int] = []
    turns: list[int] = []

    def pieces() -> Iterator[bytes]:
        for number in range(100):
            begun.append(number)
            yield b"x" * (20_000 if number > 50 else 1)

    async def watch() -> None:
        while len(begun) < 100:
            turns.append(len(begun))
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch)
        await compress(pieces(), most=8)

    gaps = [after - before for before, after in pairwise(turns)]
    assert max(gaps) <= 16
    assert max(gaps[-20:]) <= 2  # large pieces: one in a turn


async def test_html_shrinks_to_a_fraction(autojump_clock: MockClock) -> None:
    rows = [f"<tr><td>{number}</td><td>client</td></tr>".encode() for number in range(1000)]
    body = await compress(rows)

    assert body.compressed_size < body.size / 5


@pytest.mark.parametrize(
    ("header", "is_accepted"),
    [
        (b"", False),
        (b"gzip", True),
        (b"deflate, GZip;q=0.5", True),
        (b"gzip;q=0", False),
        (b"gzip; q=0.000, *", False),
        (b"br, *", True),
        (b"*;q=0", False),
        (b"identity", False),
        (b"xgzip", False),
        (b";;,=,", False),
    ],
)
def test_gzip_is_used_only_if_the_header_accepts_it(header: bytes, is_accepted: bool) -> None:
    assert accepts_gzip(header) is is_accepted
