import pytest

from tests.log.kit import append, batch, headers, new_log, produced
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError
from trio_kafka.log.append import check_producers, check_sizes
from trio_kafka.log.config import LogConfig
from trio_kafka.log.producer_state import ProducerState


def refused(call, *args):
    with pytest.raises(KafkaError) as caught:
        call(*args)
    return caught.value.code


def test_oversized_batch_and_oversized_append_are_refused_with_different_errors():
    content = batch(size=100)
    size = len(content)

    check_sizes(size, headers(content), LogConfig(max_message_bytes=size, segment_bytes=size))
    large = LogConfig(max_message_bytes=size - 1)
    assert refused(check_sizes, size, headers(content), large) is ErrorCode.MESSAGE_TOO_LARGE
    full = LogConfig(segment_bytes=2 * size - 1)
    two = headers(content) * 2
    assert refused(check_sizes, 2 * size, two, full) is ErrorCode.RECORD_LIST_TOO_LARGE


def test_batches_without_a_producer_are_never_duplicates():
    producers = ProducerState()
    producers.note(produced(1, 0, 0, 0, offset=3, timestamp=0, transactional=False))

    assert check_producers(headers(batch()), producers) is None
    again = headers(batch(producer_id=1, producer_epoch=0, base_sequence=0))
    assert check_producers(again, producers).first_offset == 3


def test_batches_without_sequence_are_checked_only_for_their_producer_epoch():
    producers = ProducerState()
    producers.note(produced(1, 3, 0, 0, offset=3, timestamp=0, transactional=False))

    own = {"producer_id": 1, "base_sequence": -1}
    assert check_producers(headers(batch(producer_epoch=3, **own)), producers) is None
    old = headers(batch(producer_epoch=2, **own))
    assert refused(check_producers, old, producers) is ErrorCode.INVALID_PRODUCER_EPOCH
    marker = headers(batch(producer_epoch=2, control=True, **own))
    assert check_producers(marker, producers) is None  # a coordinator's


async def test_batch_after_others_is_refused_if_it_is_too_large_or_the_log_is_blocked(
    autojump_clock, world
) -> None:
    log = new_log(world, max_message_bytes=200)
    append(log, batch(1, size=10, timestamp=100))
    with pytest.raises(KafkaError) as too_large:
        append(log, batch(1, size=300, timestamp=100))
    with log.blocking_appends("test"), pytest.raises(InvariantError):
        append(log, batch(1, size=10, timestamp=100))

    assert too_large.value.code is ErrorCode.MESSAGE_TOO_LARGE
    assert log.end_offset == 1
