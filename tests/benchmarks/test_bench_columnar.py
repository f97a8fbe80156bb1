import pytest

from tests.benchmarks.bench_columnar import (
    BOUNDS,
    LOADS,
    READERS,
    Load,
    columns_of,
    log_of,
    main,
    missed,
)
from trio_kafka.model import TopicPartition
from trio_kafka.records.columnar import decode
from trio_kafka.records.compression import Codec

SMALL = {name: Load(records=300, size=10, batch=40, codec=Codec.LZ4) for name in LOADS}


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_finds_every_record(reader: str) -> None:
    assert READERS[reader](log_of(SMALL["100 B"])) == 300


def test_decoded_columns_equal_the_encoded_columns() -> None:
    names = ["key", "value"]
    batches = decode(log_of(SMALL["100 B"]), at=TopicPartition("t", 0), columns=names)

    assert [row for batch in batches for row in batch.to_pylist()] == columns_of(
        SMALL["100 B"]
    ).select(names).to_pylist()


def test_missed_columnar_bound_is_reported() -> None:
    figures = {load: {"ours": 3.0, reader: 2.0} for load, reader in BOUNDS}

    assert missed(figures) == ["100 B: 1.50 times aiokafka parsed, want 2"]
    assert missed({load: {"ours": 4.0, reader: 2.0} for load, reader in BOUNDS}) == []


@pytest.mark.slow
def test_columnar_table_shows_every_load_and_reader(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--seconds", "0.001"], SMALL)

    printed = capsys.readouterr().out
    assert all(f"\n{name} " in printed for name in LOADS)
    assert all(reader in printed for reader in READERS)
