from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.records.batch import Record, encode_batch, read_header
from trio_kafka.replication.append_queue import MOST_BYTES, MOST_ITEMS, AppendQueue, Queued

HEADER = read_header(encode_batch([Record()]))
DONE = KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)


def item(size: int) -> Queued:
    return Queued(
        batch=memoryview(bytes(size)), header=HEADER, leader_epoch=0, needs_all=False, since=0.0
    )


def test_first_item_of_a_queue_may_be_of_any_size() -> None:
    queue = AppendQueue()

    assert queue.has_room(MOST_BYTES + 1)
    queue.push(item(1))
    assert not queue.has_room(MOST_BYTES)
    assert queue.has_room(MOST_BYTES - 1)


def test_queue_is_limited_in_its_number_of_items() -> None:
    queue = AppendQueue()
    for _ in range(MOST_ITEMS):
        assert queue.has_room(1)
        queue.push(item(1))

    assert not queue.has_room(1)
    queue.pop(DONE)
    assert queue.has_room(1)


def test_popped_item_has_a_result_and_no_records() -> None:
    queue, entry = AppendQueue(), item(10)
    queue.push(entry)

    assert queue.pop(DONE) == 10

    assert entry.result is DONE
    assert len(entry.batch) == 0


@given(st.lists(st.none() | st.integers(0, 100)))
def test_queue_keeps_the_order_and_counts_items_and_bytes(steps: list[int | None]) -> None:
    queue, there, most = AppendQueue(), [], 0
    for size in steps:
        if size is not None:
            there.append(item(size))
            queue.push(there[-1])
        elif there:
            assert queue.first is there[0]
            queue.pop(DONE)
            del there[0]
        waiting = sum(len(entry.batch) for entry in there)
        most = max(most, waiting)
        assert (len(queue), queue.bytes, queue.most_bytes) == (len(there), waiting, most)


def test_item_counts_with_its_original_size_after_its_records_have_changed() -> None:
    queue, entry = AppendQueue(), item(10)
    queue.push(entry)
    entry.batch = memoryview(bytes(1000))

    assert queue.pop(DONE) == 10
    assert queue.bytes == 0
