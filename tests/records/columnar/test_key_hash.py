from itertools import pairwise

import hypothesis
import numpy as np
from hypothesis import strategies as st

from trio_kafka.records.columnar.key_hash import LONG, PADDING, KeyHasher

HASHER = KeyHasher(b"salt")


def hashes(keys: list[bytes], hasher: KeyHasher = HASHER, before: bytes = b"") -> list[tuple]:
    data = np.frombuffer(before + b"".join(keys) + b"\xff" * PADDING, np.uint8)
    length = np.array([len(key) for key in keys], np.int64)
    begin = np.cumsum(length) - length + len(before)
    first, second = hasher.hashes(data, begin, length)
    return list(zip(first.tolist(), second.tolist(), strict=True))


@hypothesis.given(st.lists(st.binary(max_size=40) | st.binary(min_size=250, max_size=270)))
def test_hash_of_a_key_does_not_depend_on_the_keys_beside_it(keys: list[bytes]) -> None:
    alone = [hashes([key], before=b"before")[0] for key in keys]

    assert hashes(keys) == alone
    assert len(set(alone)) == len(set(keys))


def test_key_hash_changes_with_every_bit_and_every_length() -> None:
    key = bytes(range(200, 217))
    changed = [
        bytes(byte ^ (1 << bit) * (at == place) for place, byte in enumerate(key))
        for at in range(len(key))
        for bit in range(8)
    ]
    zeros = [bytes(size) for size in range(LONG + 10)]

    result = hashes([key, *changed, *zeros])

    for half in (0, 1):
        assert len({pair[half] for pair in result}) == len(result)


def test_key_hashes_are_distributed_evenly() -> None:
    result = hashes([b"key-%d" % number for number in range(1000)])

    for half in (0, 1):
        values = sorted(pair[half] for pair in result)
        assert max(later - earlier for earlier, later in pairwise(values)) < (1 << 64) // 50


def test_key_hashes_differ_with_another_salt() -> None:
    keys = [b"", b"a", b"k" * 300]

    assert not set(hashes(keys)) & set(hashes(keys, KeyHasher(b"other")))
    assert hashes(keys) == hashes(keys, KeyHasher(b"salt"))
