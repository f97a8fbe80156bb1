import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.records.columnar.locate import locate_records
from trio_kafka.records.columnar.varints import Longs
from trio_kafka.records.varint import encode_varint

SIZES = st.sampled_from([6, 7, 60, 63, 64, 100, 8191, 8192, 20_000])


def laid(chains: list[list[int]]) -> tuple[np.ndarray, Longs, Longs, Longs, list[int]]:
    """Chains of records of these sizes: data, begin, end, counts, and where each record begins."""
    data, begin, end, starts = bytearray(b"gap"), [], [], []
    for chain in chains:
        begin.append(len(data))
        for size in chain:
            starts.append(len(data))
            data += encode_varint(size) + b"\xff" * size
        end.append(len(data))
        data += b"gap"
    del data[-3:]
    counts = [len(chain) for chain in chains]
    return (
        np.frombuffer(bytes(data), np.uint8),
        np.array(begin),
        np.array(end),
        np.array(counts),
        starts,
    )


@pytest.mark.slow
@given(st.lists(st.lists(SIZES, min_size=1, max_size=6), min_size=1, max_size=6), st.booleans())
def test_locate_records_finds_every_record(chains: list[list[int]], many: bool) -> None:
    chains *= 20 if many else 1

    data, begin, end, counts, starts = laid(chains)

    assert locate_records(data, begin, end, counts=counts).tolist() == starts


@pytest.mark.parametrize("count", [31, 32, 33, 100])
def test_locate_records_follows_chains_of_very_different_lengths(count: int) -> None:
    chains = [[60] * (1 + n * n % 71) for n in range(count)]

    data, begin, end, counts, starts = laid(chains)

    assert locate_records(data, begin, end, counts=counts).tolist() == starts


@pytest.mark.parametrize("long", [60, 100, 20_000])
def test_locate_records_finds_runs_of_one_size_between_others(long: int) -> None:
    runs = [1, 31, 32, 33, 1, 1, 1000, 2, 40]
    chain = [size for run in runs for size in (*[long] * run, 7, 300)] + [long] * 1200

    data, begin, end, counts, starts = laid([chain, [6]])

    assert locate_records(data, begin, end, counts=counts).tolist() == starts


def test_locate_records_handles_one_very_long_chain_among_many_short_chains() -> None:
    data, begin, end, counts, starts = laid([[6] * 200_000, *[[6]] * 100])

    assert locate_records(data, begin, end, counts=counts).tolist() == starts


@given(st.binary(min_size=2, max_size=60), st.integers(1, 50), st.sampled_from([1, 40]))
def test_locate_records_returns_one_position_per_claimed_record_for_any_bytes(
    data: bytes, count: int, copies: int
) -> None:
    begin = np.arange(copies) * len(data)

    result = locate_records(
        np.frombuffer(data * copies, np.uint8),
        begin,
        begin + len(data),
        counts=np.full(copies, count),
    )

    assert len(result) == copies * count
    assert result.min() >= 0


def test_malformed_chain_does_not_change_positions_in_other_chains() -> None:
    data, begin, end, counts, starts = laid([[60] * 5] * 50)
    broken = data.copy()
    broken[starts[12] : starts[12] + 2] = (0xFE, 0x7F)  # beyond the end of its chain

    result = locate_records(broken, begin, end, counts=counts).tolist()

    assert result[:10] == starts[:10]
    assert result[15:] == starts[15:]
