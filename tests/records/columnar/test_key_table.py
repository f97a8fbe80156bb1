import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from trio_kafka.records.columnar.key_table import SLOT_BYTES, KeyTable, largest_prime

# Few first hashes, so that keys collide in one half or in both places.
HASHES = st.tuples(st.integers(0, 3), st.integers(0, 40))


def arrays(keys: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    pairs = np.array(keys, np.uint64).reshape(-1, 2)
    return pairs[:, 0].copy(), pairs[:, 1].copy()


@hypothesis.given(st.lists(st.lists(HASHES, max_size=30), max_size=8))
def test_key_table_returns_the_last_offset_of_each_key(calls: list[list[tuple[int, int]]]) -> None:
    table = KeyTable(200 * SLOT_BYTES, 1.0)
    model: dict[tuple[int, int], int] = {}
    offset = 0
    for keys in calls:
        offsets = np.arange(offset, offset + len(keys))
        model.update(zip(keys, offsets.tolist(), strict=True))
        offset += len(keys)
        table.put(*arrays(keys), offsets)

    every = [(first, second) for first in range(4) for second in range(41)]
    assert table.get(*arrays(every)).tolist() == [model.get(key, -1) for key in every]
    assert table.keys == len(model)


def test_key_table_keeps_its_keys_when_growing() -> None:
    table = KeyTable(1 << 24, 0.9)
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 1 << 63, (2, 300_000), dtype=np.uint64)
    offsets = np.arange(300_000)
    for at in range(0, 300_000, 10_000):
        rows = slice(at, at + 10_000)
        table.put(first[rows], second[rows], offsets[rows])

    assert table.keys == 300_000
    assert (table.get(first, second) == offsets).all()
    assert (table.get(second, first) == -1).all()


def test_key_table_can_be_filled_up_to_its_capacity() -> None:
    table = KeyTable(9 * SLOT_BYTES, 1.0)
    first, second = np.arange(6, dtype=np.uint64), np.zeros(6, np.uint64)

    table.put(first, second, np.arange(6))

    assert (table.most_slots, table.capacity, table.keys) == (7, 6, 6)
    assert table.get(first, second).tolist() == [0, 1, 2, 3, 4, 5]
    assert table.get(first + np.uint64(10), second).tolist() == [-1] * 6


@pytest.mark.parametrize(("most", "prime"), [(0, 2), (2, 2), (9, 7), (100, 97), (65_536, 65_521)])
def test_largest_prime_returns_the_largest_prime_up_to_a_limit(most: int, prime: int) -> None:
    assert largest_prime(most) == prime
