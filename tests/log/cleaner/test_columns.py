"""Properties of vectors: windows, errors of one batch among many. `test_rows` compares results."""

import pytest

from tests.log.cleaner.kit import data_batch, header_of, rules
from tests.log.cleaner.test_batches import finish
from trio_kafka.log.cleaner.batches import Batch
from trio_kafka.log.cleaner.columns import Columns
from trio_kafka.log.cleaner.job import CleaningError
from trio_kafka.log.cleaner.pace import Pace
from trio_kafka.records.batch import Record
from trio_kafka.records.compression import Codec


def batches_of(count: int, **options: object) -> list[Batch]:
    found = []
    for number in range(count):
        records = [Record(key=b"%d" % number, value=b"1")]
        data = data_batch(number, records, **options)
        found.append(Batch(100 * number, header_of(data), memoryview(data)))
    return found


def test_the_malformed_batch_among_many_is_named() -> None:
    batches = batches_of(50)
    batches[20] = batches[20]._replace(data=batches[20].data[:-1])
    columns = Columns.make(rules(), b"", Pace())

    with pytest.raises(CleaningError) as index_error:
        finish(columns.index("p", batches, 0))
    with pytest.raises(CleaningError) as filter_error:
        finish(columns.filter("p", batches, 100, 0))

    assert index_error.value.position == filter_error.value.position == 2000


def test_a_block_that_cannot_be_decompressed_is_named() -> None:
    batches = batches_of(5, codec=Codec.ZSTD)
    batches[3] = batches[3]._replace(data=batches[3].data[:-2])
    columns = Columns.make(rules(), b"", Pace())

    with pytest.raises(CleaningError) as error:
        finish(columns.index("p", batches, 0))

    assert error.value.position == 300


def test_no_batches_need_no_work() -> None:
    columns = Columns.make(rules(), b"", Pace())

    assert finish(columns.index("p", [], 0)) == 0
    assert (columns.keys, columns.utilization) == (0, 0.0)
