"""Bodies of answers, compressed with gzip while they are made, in slices of the loop.

A body is kept in its compressed form only, a tenth of its size; a client that does not accept gzip
gets it decompressed. Gzip is in the standard library and every browser accepts it. Brotli needs a
package in C, and at the speed that a page needs it gains 10 to 20 % of a tenth.

Nothing secret stands beside text that a client chooses, so that sizes disclose nothing (BREACH).
"""

import zlib
from collections.abc import Iterable, Iterator
from typing import Final

import trio

from trio_kafka.attributes import frozen

_GZIP: Final = 16 + zlib.MAX_WBITS  # zlib's sign for the header and trailer of gzip (RFC 1952)
_LEVEL: Final = 1  # the quickest
_SLICE: Final = 16 << 10  # bytes that are compressed, or sent, between two checkpoints


@frozen
class CompressedBody:
    """Body of an answer. chunks: its gzip form, of about 16 KiB each. size: bytes without gzip."""

    chunks: tuple[bytes, ...]
    size: int

    @property
    def compressed_size(self) -> int:
        """Bytes with gzip."""
        return sum(map(len, self.chunks))

    def decompressed(self) -> Iterator[bytes]:
        """Yield the body without gzip, in pieces of at most 16 KiB."""
        inflate = zlib.decompressobj(_GZIP)
        for chunk in self.chunks:
            rest = chunk
            while rest:
                yield inflate.decompress(rest, _SLICE)
                rest = inflate.unconsumed_tail


async def compress(pieces: Iterable[bytes], *, most: int = 1) -> CompressedBody:
    """Compress a body. most: pieces that may be made between two checkpoints."""
    deflate = zlib.compressobj(_LEVEL, wbits=_GZIP)
    chunks, output, waiting, size = list[bytes](), bytearray(), bytearray(), 0
    for number, piece in enumerate(pieces, 1):
        waiting += piece
        size += len(piece)
        while len(waiting) >= _SLICE:
            output += deflate.compress(waiting[:_SLICE])
            del waiting[:_SLICE]
            if len(output) >= _SLICE:
                chunks.append(bytes(output))
                output.clear()
            await trio.lowlevel.checkpoint()
        if not number % most:
            await trio.lowlevel.checkpoint()
    output += deflate.compress(waiting) + deflate.flush()
    await trio.lowlevel.checkpoint()
    return CompressedBody((*chunks, bytes(output)), size)


def accepts_gzip(header: bytes) -> bool:
    """Return whether an Accept-Encoding header accepts gzip (RFC 9110 §12.5.3)."""
    weights = dict[bytes, bool]()
    for item in header.lower().split(b","):
        name, *parameters = (part.strip() for part in item.split(b";"))
        weights[name] = not any(_is_zero(parameter) for parameter in parameters)
    return weights.get(b"gzip", weights.get(b"*", False))


def _is_zero(parameter: bytes) -> bool:
    """Return whether a parameter is a weight of 0, which means not acceptable."""
    name, _, value = parameter.partition(b"=")
    return name == b"q" and value.strip(b"0.") == b""
