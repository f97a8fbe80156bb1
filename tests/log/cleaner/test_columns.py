"""Properties of vectors: windows, one unreadable batch among many. `test_rows` compares results."""

import pytest

from tests.log.cleaner.kit import data_batch, header_of, rules
from tests.log.cleaner.test_batches import finish
from trio_kafka.log.cleaner.batches import Batch
from trio_kafka.log.cleaner.columns import Columns
from trio_kafka.log.cleaner.pace import Pace
from trio_kafka.records.batch import Record
from trio_kafka.records.compression import Codec


def batches_of(count: int, **options: object) -> list[Batch]:
    result = []
    for number in range(count):
        records = [Record(key=b"%d" % number, value=b"1")]
        data = data_batch(number, records, **options)
        result.append(Batch(100 * number, header_of(data), memoryview(data)))
    return result


@pytest.mark.parametrize(
    ("number", "codec", "reason"),
    [(20, Codec.NONE, "byte 1 of the records"), (3, Codec.ZSTD, "zstd"), (0, Codec.NONE, "byte 1")],
)
def test_unreadable_batch_among_others_is_reported_and_the_others_are_compacted(
    number: int, codec: Codec, reason: str
) -> None:
    batches = batches_of(50, codec=codec)
    batches[number] = batches[number]._replace(data=batches[number].data[:-2])
    columns = Columns.make(rules(), b"", Pace())

    assert finish(columns.index(batches, 0)) == (50, None)
    survivors = finish(columns.filter(batches, 100, 0))

    assert columns.keys == 49
    assert [at for at, segment in enumerate(survivors) if segment.unreadable] == [number]
    assert reason in survivors[number].unreadable
    assert all(survivor.kept == 1 for survivor in survivors)


def test_batches_are_kept_if_all_of_them_are_unreadable() -> None:
    batches = [batch._replace(data=batch.data[:-1]) for batch in batches_of(5)]
    columns = Columns.make(rules(), b"", Pace())

    assert finish(columns.index(batches, 0)) == (5, None)
    assert all(segment.unreadable for segment in finish(columns.filter(batches, 100, 0)))
    assert columns.keys == 0


def test_index_of_no_batches_adds_no_keys() -> None:
    columns = Columns.make(rules(), b"", Pace())

    assert finish(columns.index([], 0)) == (0, None)
    assert (columns.keys, columns.utilization) == (0, 0.0)
