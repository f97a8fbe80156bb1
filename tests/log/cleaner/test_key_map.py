import tracemalloc

import hypothesis
from hypothesis import strategies as st

from trio_kafka.log.cleaner.key_map import BYTES_PER_KEY, LONG, KeyMap

KEYS = st.binary(max_size=3) | st.binary(min_size=LONG - 1, max_size=LONG + 2)


@hypothesis.given(st.lists(st.tuples(KEYS, st.integers(0, 100))))
def test_key_map_holds_the_last_offset_of_each_key(puts: list[tuple[bytes, int]]) -> None:
    keys = KeyMap(1 << 20, 0.9)
    for key, offset in puts:
        keys.put(key, offset)

    assert len(keys) == len(dict(puts))
    assert {key: keys.get(key) for key, _ in puts} == dict(puts)
    assert keys.get(b"unknown") == keys.get(b"unknown" * 20) == -1


def test_capacity_of_a_key_map_is_its_slots_times_the_load_factor() -> None:
    keys = KeyMap(1000 * BYTES_PER_KEY, 0.5)
    keys.put(b"a", 1)

    assert (keys.slots, keys.capacity, keys.utilization) == (1000, 500, 0.001)
    assert KeyMap(0, 0.5).utilization == 0.0


def test_long_keys_are_hashed_with_the_salt() -> None:
    key = b"k" * 100

    assert KeyMap(1, 1.0).hashed(key) == KeyMap(1, 1.0).hashed(key)
    assert KeyMap(1, 1.0, b"salt").hashed(key) != KeyMap(1, 1.0).hashed(key)
    KeyMap(1, 1.0, b"salt" * 100).hashed(key)


def test_key_map_takes_at_most_the_memory_it_counts_for_each_key() -> None:
    count = 50_000
    tracemalloc.start()
    try:
        keys = KeyMap(count * BYTES_PER_KEY, 1.0)
        for number in range(count):
            keys.put(b"%048d" % number, 1_000_000 + number)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert taken < count * BYTES_PER_KEY * 1.05
