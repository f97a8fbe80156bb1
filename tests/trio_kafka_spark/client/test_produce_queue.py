"""The queue against a partition of the broker's own rules, over connections that break anywhere."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.producer_state import ProducerState
from trio_kafka.model import TopicPartition
from trio_kafka.records.header import BatchHeader
from trio_kafka_spark.client.produce_queue import MOST_IN_FLIGHT, Batch, Queue, Queues

WHERE = TopicPartition("t", 0)
NEVER = 1e9
START = (1 << 31) - 40  # sequences wrap in the middle of the tests


def header_of(batch: Batch, offset: int) -> BatchHeader:
    last = batch.count - 1
    return BatchHeader(offset, 0, 0, 2, 0, 0, last, 0, 0, 7, 0, batch.sequence, batch.count)


class Leader:
    """One partition as the broker keeps it: appended records, and what is known of producers."""

    def __init__(self) -> None:
        self.state = ProducerState()
        self.records: list[tuple[int, int]] = []  # (number of the batch, place in it)

    def append(self, batch: Batch) -> tuple[ErrorCode, int]:
        offset = len(self.records)
        header = header_of(batch, offset)
        try:
            repeated = self.state.check(header)
        except KafkaError as error:
            return error.code, -1
        if repeated is not None:
            return ErrorCode.NONE, repeated.first_offset
        self.state.note(header)
        self.records += [(batch.number, place) for place in range(batch.count)]
        return ErrorCode.NONE, offset


def queue_with(*counts: int, is_known: bool = True) -> Queue:
    queue = Queue(where=WHERE, next_sequence=START, is_known=is_known)
    for count in counts:
        queue.add(b"x" * count, count, NEVER)
    return queue


@settings(max_examples=300)
@given(
    counts=st.lists(st.integers(1, 9), min_size=1, max_size=25),
    chance=st.floats(0, 0.7),
    seed=st.integers(0, 1 << 30),
)
def test_each_record_is_appended_once_and_in_order_under_random_faults(
    counts: list[int], chance: float, seed: int
) -> None:
    dice = random.Random(seed)
    queue, leader = queue_with(*counts, is_known=False), Leader()
    numbers = [batch.number for batch in queue.waiting]
    steps = 0
    while queue.waiting or queue.in_flight:
        steps += 1
        broken = steps < 400  # then everything works, and it must come to an end
        while queue.may_send(0.0):
            queue.send()
        assert len(queue.in_flight) <= MOST_IN_FLIGHT
        lost = False
        for batch in list(queue.in_flight):
            if lost:  # the connection is gone: what follows neither arrives nor is answered
                queue.again(batch, 0.0)
                continue
            if broken and dice.random() < chance / 3:
                code, offset = ErrorCode.NOT_ENOUGH_REPLICAS, -1
            else:
                code, offset = leader.append(batch)
            if broken and dice.random() < chance / 3:
                queue.again(batch, 0.0)  # its answer is lost, whether it was appended or not
                lost = True
            else:
                assert queue.answer(batch, code, offset=offset, retry_at_s=0.0)
        assert steps < 1000

    assert leader.records == [
        (number, place)
        for number, count in zip(numbers, counts, strict=True)
        for place in range(count)
    ]
    assert queue.last_offset == sum(counts) - 1


def test_the_first_batch_of_a_partition_is_sent_alone() -> None:
    queue, leader = queue_with(2, 1, 1, is_known=False), Leader()

    first = queue.send()
    assert not queue.may_send(0.0)

    assert queue.answer(first, *leader.append(first), retry_at_s=0.0)
    queue.send()
    assert queue.may_send(0.0)


def test_the_parts_of_a_split_batch_keep_its_sequences_and_its_place() -> None:
    queue, leader = queue_with(2, 4, 3, is_known=False), Leader()
    before = queue.send()
    assert queue.answer(before, *leader.append(before), retry_at_s=0.0)
    large, after = queue.send(), queue.send()

    assert not queue.answer(large, ErrorCode.MESSAGE_TOO_LARGE, offset=-1, retry_at_s=0.0)
    queue.split(large, [(b"a", 1), (b"b", 3)])
    assert queue.answer(
        after, *leader.append(after), retry_at_s=0.0
    )  # out of order: it is sent again
    sent = []
    while queue.waiting:
        sent.append(queue.send())
        assert queue.answer(sent[-1], *leader.append(sent[-1]), retry_at_s=0.0)

    assert [(batch.data, batch.sequence - START) for batch in sent] == [
        (b"a", 2),
        (b"b", 3),
        (b"xxx", 6),
    ]
    assert len(leader.records) == 9


def test_no_batch_is_sent_until_failed_batches_are_retried_in_order() -> None:
    queue = queue_with(1, 1, 1, 1)
    first, second = queue.send(), queue.send()

    queue.again(first, at_s=5.0)

    assert not queue.may_send(9.0)  # the second is in flight
    queue.again(second, at_s=0.0)
    assert not queue.may_send(4.9)
    assert queue.may_send(5.0)
    assert queue.send() is first
    assert queue.send() is second


def test_an_out_of_order_sequence_without_an_earlier_failure_is_final() -> None:
    queue = queue_with(1, 1)

    assert not queue.answer(
        queue.send(), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, offset=-1, retry_at_s=0.0
    )


def test_an_out_of_order_sequence_after_a_failure_is_retried() -> None:
    queue = queue_with(1, 1)
    first, second = queue.send(), queue.send()
    queue.again(first, 0.0)

    assert queue.answer(second, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, offset=-1, retry_at_s=0.0)
    assert [batch.number for batch in queue.waiting] == [first.number, second.number]


@pytest.mark.parametrize(
    "code", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TOPIC_AUTHORIZATION_FAILED]
)
def test_other_errors_of_a_batch_are_not_retried(code: ErrorCode) -> None:
    queue = queue_with(1)

    assert not queue.answer(queue.send(), code, offset=-1, retry_at_s=0.0)


def test_a_batch_with_a_duplicate_sequence_counts_as_written() -> None:
    queue = queue_with(1)

    assert queue.answer(
        queue.send(), ErrorCode.DUPLICATE_SEQUENCE_NUMBER, offset=-1, retry_at_s=0.0
    )
    assert not queue.in_flight
    assert queue.last_offset == -1


def test_a_request_has_a_single_batch_per_partition_up_to_its_size() -> None:
    queues = Queues()
    for partition in range(4):
        queues[TopicPartition("t", partition)].is_known = True
        queues[TopicPartition("t", partition)].add(b"x" * 40, 1, NEVER)
        queues[TopicPartition("t", partition)].add(b"y", 1, NEVER)
    wheres = list(queues.queues)

    first = queues.request(wheres, 0.0, 100)
    second = queues.request(wheres, 0.0, 1)

    assert [(batch.where.partition, batch.data[:1]) for batch in first] == [(0, b"x"), (1, b"x")]
    assert [(batch.where.partition, batch.data[:1]) for batch in second] == [(0, b"y")]
    assert queues.held_bytes == 4 * 41
    assert not queues.is_empty


def test_a_batch_expires_at_its_delivery_timeout() -> None:
    queues = Queues()
    late = queues[WHERE].add(b"x", 1, expires_s=10.0)
    queues[WHERE].add(b"x", 1, expires_s=20.0)

    assert queues.expired(9.9) is None
    assert queues.expired(10.0) is late
    assert queues.next_retry_s(99.0) == 0.0


def test_only_batches_that_are_not_in_flight_get_time_back_and_at_most_their_timeout() -> None:
    queues = Queues()
    in_flight = queues[WHERE].add(b"x", 1, expires_s=10.0)
    old, new = (queues[WHERE].add(b"x", 1, expires_s=at_s) for at_s in (10.0, 19.0))
    queues[WHERE].send()

    queues.extend_waiting(5.0, until_s=20.0)

    assert [batch.expires_s for batch in (in_flight, old, new)] == [10.0, 15.0, 20.0]
