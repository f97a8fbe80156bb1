"""Hashes of 128 bits of many keys at once.

Each is four sums of 32-bit words times random 64-bit factors, of which the upper half is kept. Two
keys that were chosen without knowing the factors have equal hashes with a probability of 2^-128.
Long keys are rare, and hashed one by one.
Source: multilinear hashing, which is strongly universal.
"""

from hashlib import blake2b, shake_256
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trio_kafka.records.columnar.varints import Bytes, Longs

Words: TypeAlias = NDArray[np.uint64]

LONG: Final = 256  # bytes; longer keys are hashed one by one
PADDING: Final = 8  # readable bytes after the last key
_LANES: Final = 4
_WORD: Final = 8
_PER_LANE: Final = 2 + 2 * LONG // _WORD  # one alone, one for the length, two for each eight bytes
_HALF: Final = np.uint64(32)
_LOW: Final = np.uint64(0xFFFF_FFFF)
_HIGH: Final = np.uint64(0xFFFF_FFFF_0000_0000)


class KeyHasher:
    """Hash function. salt: random bytes, from which the factors are derived."""

    def __init__(self, salt: bytes = b"") -> None:
        self._salt = salt[: blake2b.MAX_KEY_SIZE]
        random = shake_256(salt).digest(_LANES * _PER_LANE * _WORD)
        factors = np.frombuffer(random, "<u8").astype(np.uint64)
        self._factors = factors.reshape(_LANES, _PER_LANE)

    def hashes(self, data: Bytes, begin: Longs, length: Longs) -> tuple[Words, Words]:
        """Return both halves of the hash of each key.

        begin, length: of the keys in `data`, which goes on for PADDING bytes after the last one.
        """
        sums = self._sums(data, begin, length)
        upper = [lane & _HIGH for lane in sums]
        first, second = upper[0] | upper[1] >> _HALF, upper[2] | upper[3] >> _HALF
        for row in np.flatnonzero(length > LONG).tolist():
            at = int(begin[row])
            key = data[at : at + int(length[row])].tobytes()
            digest = blake2b(key, digest_size=2 * _WORD, key=self._salt).digest()
            first[row] = int.from_bytes(digest[:_WORD], "little")
            second[row] = int.from_bytes(digest[_WORD:], "little")
        return first, second

    def _sums(self, data: Bytes, begin: Longs, length: Longs) -> list[Words]:
        sizes = length.astype(np.uint64)
        sums = [lane[0] + lane[1] * sizes for lane in self._factors]
        if not length.size:
            return sums
        longest = min(int(length.max()), LONG)
        words: Words = np.ndarray((len(data) - _WORD + 1,), "<u8", buffer=data, strides=(1,))
        rows: NDArray[np.intp] | None = None  # None: all
        for number in range(-(-longest // _WORD)):
            at = number * _WORD
            if rows is not None or int(length.min()) <= at:
                rows = np.flatnonzero(length > at)
            begins = begin if rows is None else begin[rows]
            remaining = (length if rows is None else length[rows]) - at
            word = words[begins + at].astype(np.uint64, copy=False)
            if int(remaining.min()) < _WORD:
                unused = 8 * np.maximum(_WORD - remaining, 0).astype(np.uint64)
                word = word << unused >> unused
            low, high = word & _LOW, word >> _HALF
            for lane, factors in enumerate(self._factors):
                product = low * factors[2 + 2 * number] + high * factors[3 + 2 * number]
                if rows is None:
                    sums[lane] += product
                else:
                    sums[lane][rows] += product
        return sums
