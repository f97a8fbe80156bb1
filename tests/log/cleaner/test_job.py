import errno
import pickle

import pytest
from attrs import evolve

from tests.log.cleaner.kit import rules
from trio_kafka.log.cleaner.job import (
    CleaningError,
    CleaningJob,
    Compute,
    LastRecord,
    Pause,
    SealedFile,
    in_worker,
)
from trio_kafka.log.files.names import INDEX
from trio_kafka.log.files.operations import CreateFile, OpenFile
from trio_kafka.scheduling.chunked_work import whole
from trio_kafka.world.in_memory import MemoryDisk

JOB = CleaningJob(
    rules=rules(active_producers={1: LastRecord(4, 0)}),
    segments=(SealedFile(base_offset=0, size=10, index_size=0, time_index_size=0),),
    first_dirty_offset=0,
    first_uncleanable_offset=10,
)


def test_cleaning_job_and_cleaning_error_can_be_pickled() -> None:
    error = CleaningError("/d/0.log", 7, "a reason")

    assert pickle.loads(pickle.dumps(JOB)) == JOB
    assert str(pickle.loads(pickle.dumps(error))) == "/d/0.log at position 7: a reason"


def test_new_files_have_the_suffix_of_the_job() -> None:
    assert JOB.name(5, INDEX) == "00000000000000000005.index.cleaned"
    unique = evolve(JOB, suffix=".ab12.cleaned")
    assert unique.name(5, INDEX) == "00000000000000000005.index.ab12.cleaned"


def test_a_worker_performs_each_step_and_sends_its_result() -> None:
    directory = MemoryDisk().directory("/d", create=True)
    results = []

    def steps():
        results.append((yield Pause(0, 0, True)))
        results.append((yield Compute(lambda: 5)))
        file = yield CreateFile(directory, "f", b"abc", replace=True)
        results.append(file.size)
        return "done"

    work = in_worker(steps())

    assert next(work) is None
    assert whole(work) == "done"
    assert results == [None, 5, 3]


def test_a_worker_throws_errors_into_the_run() -> None:
    directory = MemoryDisk().directory("/d", create=True)

    def steps():
        with pytest.raises(FileNotFoundError):
            yield OpenFile(directory, "missing")
        yield Compute(lambda: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        whole(in_worker(steps()))


def test_error_that_the_run_does_not_catch_is_raised_by_the_worker() -> None:
    def full():
        raise OSError(errno.ENOSPC, "full")

    def steps():
        yield Compute(full)

    with pytest.raises(OSError, match="full"):
        whole(in_worker(steps()))
