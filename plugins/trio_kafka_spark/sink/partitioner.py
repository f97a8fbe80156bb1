"""The partition of each record, as Kafka's Java producer chooses it.

A key is hashed with murmur2 over all partitions of its topic; equal keys go to one partition, also
where other clients with Kafka's default partitioner write. A record without a key goes to the
sticky partition, one of those with a leader, which changes each `batch.size` bytes. All rows of an
Arrow batch are vectors: there is a Python loop over the words of the longest keys only.
Source: KafkaProducer.partition and BuiltInPartitioner of Apache Kafka 4.4.0, KIP-480, KIP-794.
"""

import random
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int64]
_Words = npt.NDArray[np.uint32]

_SEED: Final = 0x9747B28C
_M: Final = np.uint32(0x5BD1E995)
_PLAIN_M: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF
_FEW: Final = 16  # keys: below, one Python loop a key is faster than vectors so short


def murmur2(keys: pa.Array) -> _Words:
    """Return Kafka's 32-bit hash of each key, without a sign. O(bytes of keys).

    keys: binary, large_binary, string or large_string. What stands for a null has no meaning.
    """
    buffer, begin, length = _laid_out(keys)
    h = np.uint32(_SEED) ^ length.astype(np.uint32)
    words = length >> 2
    order = np.argsort(-words, kind="stable")  # those with more words first: a prefix is active
    begin, length, words, h = begin[order], length[order], words[order], h[order]
    ascending = -words
    step, active = 0, len(words)
    while True:
        active = int(np.searchsorted(ascending[:active], -step, side="left"))
        if active < _FEW:
            break
        k = _words_at(buffer, begin[:active] + 4 * step) * _M
        k = (k ^ (k >> np.uint32(24))) * _M
        h[:active] = (h[:active] * _M) ^ k
        step += 1
    for row in range(active):
        h[row] = _plain_words(
            buffer, begin=int(begin[row]), first=step, stop=int(words[row]), h=int(h[row])
        )
    h = _tails(buffer, at=begin + 4 * words, sizes=length & 3, h=h)
    h = (h ^ (h >> np.uint32(13))) * _M
    h ^= h >> np.uint32(15)
    hashes = np.empty_like(h)
    hashes[order] = h
    return hashes


def key_partitions(keys: pa.Array, count: int) -> Ints:
    """Return the partition of each key among `count`. What stands for a null has no meaning."""
    return (murmur2(keys) & np.uint32(0x7FFFFFFF)).astype(np.int64) % count


def _laid_out(keys: pa.Array) -> tuple[npt.NDArray[np.uint8], Ints, Ints]:
    """Return the bytes of all keys, and where each begins and how long it is."""
    large = pa.types.is_large_binary(keys.type) or pa.types.is_large_string(keys.type)
    if not (large or pa.types.is_binary(keys.type) or pa.types.is_string(keys.type)):
        raise TypeError(f"keys of type {keys.type}: want binary or string")
    _, offsets_buffer, data = keys.buffers()
    offsets = np.zeros(1, np.int64)
    if offsets_buffer is not None and len(offsets_buffer):
        kind = np.int64 if large else np.int32
        laid = np.frombuffer(offsets_buffer, kind, len(keys) + keys.offset + 1)
        offsets = laid[keys.offset :].astype(np.int64)
    buffer = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    return buffer, offsets[:-1], np.diff(offsets)


def _words_at(buffer: npt.NDArray[np.uint8], at: Ints) -> _Words:
    """Return the little-endian word at each position."""
    unaligned: Any = np.ndarray((len(buffer) - 3,), "<u4", buffer, strides=(1,))
    words: _Words = unaligned[at].astype(np.uint32, copy=False)
    return words


def _plain_words(
    buffer: npt.NDArray[np.uint8], *, begin: int, first: int, stop: int, h: int
) -> int:
    """Mix the words `first` to `stop` of one key into its hash."""
    for k in buffer[begin + 4 * first : begin + 4 * stop].view("<u4").tolist():
        mixed = k * _PLAIN_M & _MASK
        mixed = (mixed ^ mixed >> 24) * _PLAIN_M & _MASK
        h = (h * _PLAIN_M & _MASK) ^ mixed
    return h


def _tails(buffer: npt.NDArray[np.uint8], *, at: Ints, sizes: Ints, h: _Words) -> _Words:
    """Mix the last one to three bytes of each key into its hash."""
    for number in (2, 1, 0):
        rows = np.flatnonzero(sizes > number)
        h[rows] ^= buffer[at[rows] + number].astype(np.uint32) << np.uint32(8 * number)
    rows = np.flatnonzero(sizes)
    h[rows] *= _M
    return h


class Sticky:
    """Partition for records without a key: one available partition for some bytes, then the next.

    The order is cyclic, so partitions get equal shares; it begins at random, or all tasks of a job
    would begin with the same partition.
    """

    __slots__ = ("_batch_bytes", "_filled", "_turn")

    def __init__(self, batch_bytes: int, *, turn: int | None = None) -> None:
        """batch_bytes: after how many bytes the partition changes. turn: the first partition."""
        self._batch_bytes = max(1, batch_bytes)
        self._turn = random.randrange(1 << 30) if turn is None else turn  # noqa: S311
        self._filled = 0

    def partitions(self, sizes: Ints, available: Sequence[int]) -> Ints:
        """Return the partition of each record, by its size in bytes. `available` is not empty."""
        if not len(sizes):
            return np.empty(0, np.int64)
        ends = self._filled + np.cumsum(sizes)
        turns = self._turn + (ends - sizes) // self._batch_bytes
        last = int(ends[-1])
        self._turn += last // self._batch_bytes
        self._filled = last % self._batch_bytes
        chosen: Ints = np.asarray(available, np.int64)[turns % len(available)]
        return chosen
