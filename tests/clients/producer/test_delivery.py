"""Ends of attempts: no record is lost, doubled or reordered, and none is called what it is not."""

from tests.clients.producer.model import Run
from trio_kafka.clients.errors import ClientError, OutOfOrderSequenceError
from trio_kafka.clients.producer.receipt import Receipt
from trio_kafka.clients.producer.record import RecordMetadata


def outcome_of(receipt: Receipt) -> RecordMetadata | ClientError:
    try:
        return receipt.result()
    except ClientError as error:
        return error


def check(run: Run) -> None:
    """Hold the log against the receipts."""
    log = run.partition.log
    assert len(set(log)) == len(log)
    order = {value: number for number, value in enumerate(run.receipts)}
    assert log == sorted(log, key=order.__getitem__)
    for value, receipt in run.receipts.items():
        assert receipt.is_done, value
        outcome = outcome_of(receipt)
        if isinstance(outcome, ClientError):
            assert outcome.sent or value not in log
            if isinstance(outcome, OutOfOrderSequenceError):  # the model loses nothing
                assert run.restarts or outcome.sent
        else:
            assert log[outcome.offset] == value
    assert run.accumulator.pool.free == run.accumulator.pool.total
    assert not run.accumulator.is_active


def test_each_record_is_stored_once_in_order_or_fails_truthfully(seeds):
    for seed in seeds(150, 5000):
        run = Run(seed)
        run.run(150)
        run.finish()
        check(run)


def test_batches_that_are_too_large_are_split_under_the_same_faults(seeds):
    for seed in seeds(100, 3000):
        run = Run(seed, largest=130)
        run.run(150)
        run.finish()
        check(run)


def test_records_whose_time_is_over_leave_no_gap_behind(seeds):
    for seed in seeds(100, 3000):
        run = Run(seed, expires_s=2.0)
        run.run(200)
        run.finish()
        check(run)


def test_restarts_of_the_broker_double_nothing(seeds):
    for seed in seeds(150, 3000):
        run = Run(seed)
        run.run(200, restarts=True)
        run.finish()
        check(run)


def test_without_faults_every_good_record_is_stored(seeds):
    for seed in seeds(20, 500):
        run = Run(seed)
        run.chance.random = lambda: 0.5
        run.run(100, faults=False)
        run.finish()
        check(run)
        assert len(run.partition.log) == len(run.receipts)


def test_model_knows_a_duplicate_by_its_sequence_number():
    run = Run(0)
    run.chance.random = lambda: 0.5
    run.send()
    run.now += 1
    run.drain()
    ((_, data),) = run.requests

    assert run.partition.append(data).base_offset == 0
    assert run.partition.append(data).base_offset == 0
    assert len(run.partition.log) == 1
    run.finish()
