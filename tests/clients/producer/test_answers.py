"""Meaning of the answer for a batch."""

import pytest

from trio_kafka.clients.producer.answers import Verdict, is_rejected, verdict
from trio_kafka.clients.producer.batch import ProducerBatch
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.records.batch import ProducerFields, Record


def batch_of(count: int, *, is_idempotent: bool = True) -> ProducerBatch:
    batch = ProducerBatch(place=TopicPartition("t", 0), order=(1,), created=0.0, expires=9.0)
    for _ in range(count):
        batch.add(Record(-1, 1, None, b"v"), 20)
    if is_idempotent:
        batch.stamp(ProducerFields(1, 0, 0))
    return batch


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (ErrorCode.NONE, Verdict.STORED),
        (ErrorCode.DUPLICATE_SEQUENCE_NUMBER, Verdict.STORED),
        (ErrorCode.MESSAGE_TOO_LARGE, Verdict.SPLIT),
        (ErrorCode.RECORD_LIST_TOO_LARGE, Verdict.SPLIT),
        (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, Verdict.OUT_OF_ORDER),
        (ErrorCode.UNKNOWN_PRODUCER_ID, Verdict.UNKNOWN_PRODUCER),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, Verdict.RETRY),
        (ErrorCode.REQUEST_TIMED_OUT, Verdict.RETRY),
        (ErrorCode.INVALID_RECORD, Verdict.FAIL),
        (ErrorCode.UNKNOWN_SERVER_ERROR, Verdict.FAIL),
    ],
)
def test_code_decides_what_becomes_of_a_batch(code, expected):
    assert verdict(code, batch_of(2)) is expected


def test_batch_of_one_record_that_is_too_large_has_failed():
    assert verdict(ErrorCode.MESSAGE_TOO_LARGE, batch_of(1)) is Verdict.FAIL


def test_sequence_errors_are_final_without_sequence_numbers():
    batch = batch_of(2, is_idempotent=False)

    assert verdict(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, batch) is Verdict.FAIL


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.KAFKA_STORAGE_ERROR,
    ],
)
def test_answers_that_may_come_after_the_append_do_not_say_that_nothing_is_stored(code):
    assert not is_rejected(code)


def test_answers_before_the_append_say_that_nothing_is_stored():
    assert is_rejected(ErrorCode.NOT_ENOUGH_REPLICAS)
    assert is_rejected(ErrorCode.MESSAGE_TOO_LARGE)
    assert is_rejected(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
