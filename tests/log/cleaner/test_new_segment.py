import random

import pytest

from tests.log.cleaner.kit import (
    data_batch,
    header_of,
    marker_batch,
    new_directory,
    read_file,
    rules,
)
from tests.log.cleaner.test_batches import finish
from trio_kafka.log.cleaner.job import CleaningJob, Step
from trio_kafka.log.cleaner.new_segment import NewSegment
from trio_kafka.log.cleaner.pace import Pace
from trio_kafka.log.files.names import INDEX, LOG, TIME_INDEX, TRANSACTION_INDEX
from trio_kafka.log.files.operations import AppendBytes, run_now
from trio_kafka.log.index.aborted_transactions import AbortedTransaction
from trio_kafka.log.segment import Segment
from trio_kafka.records.batch import ProducerFields, Record

JOB = CleaningJob(
    rules=rules(index_interval_bytes=200),
    segments=(),
    first_dirty_offset=0,
    first_uncleanable_offset=0,
)


def batches(count: int) -> list[bytes]:
    chance = random.Random(1)
    return [
        data_batch(1000 + 3 * number, [Record(key=b"k", timestamp=chance.randrange(5))] * 2)
        for number in range(count)
    ]


def written(directory, encoded_batches: list[bytes], per_flush: int = 7):
    pace = Pace()
    new = finish(NewSegment.create(directory, JOB, 1000, pace=pace))
    steps: list[Step] = []
    for number, batch in enumerate(encoded_batches):
        new.add(header_of(batch), batch)
        if not number % per_flush:
            finish(new.flush(), steps)
    group = finish(new.finish([1000, 2000], [], unchanged=False), steps)
    new.close()
    return group, steps, pace


@pytest.mark.parametrize("count", [0, 1, 2, 100])
def test_new_segment_has_the_files_of_a_segment_made_by_appends(count: int) -> None:
    result = batches(count)
    directory = new_directory()
    group, _, pace = written(directory, result)
    segment = run_now(Segment.create(new_directory(), 1000, 0))
    position = 0
    for batch in result:
        segment.wrote(position, header_of(batch), 200)
        position += len(batch)
    run_now(segment.write_indexes())

    assert read_file(directory, JOB.name(1000, LOG)) == b"".join(result)
    for suffix in (INDEX, TIME_INDEX):
        want = read_file(segment.directory, f"00000000000000001000{suffix}")
        assert read_file(directory, JOB.name(1000, suffix)) == want
    assert not directory.exists(JOB.name(1000, TRANSACTION_INDEX))
    assert (group.base_offset, group.replaced, group.size) == (1000, (1000, 2000), position)
    assert (group.max_timestamp, group.max_timestamp_offset) == (
        segment.max_timestamp,
        segment.max_timestamp_offset,
    )
    assert pace.moved == position


def test_several_batches_are_written_with_one_append() -> None:
    _, steps, _ = written(new_directory(), batches(20), per_flush=10)

    assert sum(isinstance(step, AppendBytes) for step in steps) == 3


def test_new_segment_has_a_transaction_index_of_aborted_transactions() -> None:
    directory = new_directory()
    transaction = AbortedTransaction(
        producer_id=1, first_offset=1000, last_offset=1001, last_stable_offset=1002
    )
    marker = marker_batch(1001, ProducerFields(1, 0), commit=False, time=5)
    new = finish(NewSegment.create(directory, JOB, 1000, pace=Pace()))
    new.add(header_of(marker), marker)

    group = finish(new.finish([1000], [transaction], unchanged=False))

    assert group.transactions == 1
    directory.rename(JOB.name(1000, TRANSACTION_INDEX), "00000000000000001000.txnindex")
    directory.rename(JOB.name(1000, LOG), "00000000000000001000.log")
    assert run_now(Segment.open(directory, 1000, 0).transactions.all()) == (transaction,)


def test_files_of_an_earlier_run_are_replaced() -> None:
    directory = new_directory()
    written(directory, batches(100))

    group, _, _ = written(directory, batches(1))

    assert len(read_file(directory, JOB.name(1000, LOG))) == group.size
    assert read_file(directory, JOB.name(1000, INDEX)) == b""
