import pytest

from tests.log.kit import append, batch, header, new_log, produced
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError
from trio_kafka.log.append import check_producer
from trio_kafka.log.producer_state import ProducerState


def refused(call, *args):
    with pytest.raises(KafkaError) as caught:
        call(*args)
    return caught.value.code


@pytest.mark.parametrize(
    ("setting", "code"),
    [
        ("max_message_bytes", ErrorCode.MESSAGE_TOO_LARGE),
        ("segment_bytes", ErrorCode.RECORD_LIST_TOO_LARGE),
    ],
)
async def test_batch_above_a_limit_of_the_log_is_refused_with_its_own_error(
    autojump_clock, world, setting, code
):
    content = batch(size=100)
    size = len(content)

    append(new_log(world, "/wide", **{setting: size}), bytearray(content))
    tight = new_log(world, "/tight", **{setting: size - 1})

    assert refused(append, tight, content) is code
    assert tight.end_offset == 0


def test_batches_without_a_producer_are_never_duplicates():
    producers = ProducerState()
    producers.note(produced(1, 0, 0, 0, offset=3, timestamp=0, transactional=False))

    assert check_producer(producers, header(batch())) is None
    again = header(batch(producer_id=1, producer_epoch=0, base_sequence=0))
    assert check_producer(producers, again).first_offset == 3


def test_batches_without_sequence_are_checked_only_for_their_producer_epoch():
    producers = ProducerState()
    producers.note(produced(1, 3, 0, 0, offset=3, timestamp=0, transactional=False))

    own = {"producer_id": 1, "base_sequence": -1}
    assert check_producer(producers, header(batch(producer_epoch=3, **own))) is None
    old = header(batch(producer_epoch=2, **own))
    assert refused(check_producer, producers, old) is ErrorCode.INVALID_PRODUCER_EPOCH
    marker = header(batch(producer_epoch=2, control=True, **own))
    assert check_producer(producers, marker) is None  # a coordinator's


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
