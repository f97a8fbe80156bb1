"""Whole batches: every codec, what is kept of them, limits, and turns that stay short."""

from typing import Any

import pytest
from trio.testing import MockClock

from tests.log.kit import decompression
from tests.records.kit import encode_batch, encode_marker
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.plugin_host.changed_batches import UNPACKED
from trio_kafka.records.batch import Record, read_header, read_records
from trio_kafka.records.compression import Codec
from trio_kafka.records.control import Marker
from trio_kafka.records.header import check_crc
from trio_kafka.testing.simulation import simulated_world
from trio_kafka_builtin.mask.batches import masked_batches
from trio_kafka_builtin.mask.values import UnreadableError


def change(value: bytes) -> bytes:
    return value.replace(b"secret", b"***********")


def machine() -> dict[str, Any]:
    world = simulated_world()
    return {"world": world, "decompression": decompression(world)}


def batch_of(codec: Codec, count: int = 3, base: int = 40) -> bytes:
    return encode_batch(
        [Record(timestamp=1000 + n, key=b"k", value=b"secret %d" % n) for n in range(count)],
        base,
        5,
        codec=codec,
        producer_id=99,
        producer_epoch=2,
        base_sequence=17,
        transactional=True,
    )


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("count", [3, 5000])
async def test_a_masked_batch_keeps_its_header_fields_and_offsets(
    codec: Codec, count: int, autojump_clock: MockClock
) -> None:
    data = batch_of(codec, count)

    (batch,), error = await masked_batches(
        data, change, **machine(), most=1 << 20, at_least_one=True
    )

    assert error is None
    before, after = read_header(data), read_header(batch)
    check_crc(batch, 0, after)
    for name in ("base_offset", "leader_epoch", "attributes", "last_offset_delta", "count"):
        assert getattr(before, name) == getattr(after, name)
    assert (after.producer_id, after.producer_epoch, after.base_sequence) == (99, 2, 17)
    assert (after.base_timestamp, after.max_timestamp) == (1000, 999 + count)
    result = list(read_records(batch, 0, after))
    assert [record.offset for record in result] == list(range(40, 40 + count))
    assert result[2].value == b"*********** 2"


async def test_control_batches_and_batches_without_the_field_are_not_changed(
    autojump_clock: MockClock,
) -> None:
    marker = encode_marker(
        Marker(committed=True, coordinator_epoch=1), producer_id=1, producer_epoch=0, timestamp=5
    )
    other = encode_batch([Record(timestamp=1, value=b"open")], codec=Codec.GZIP)

    batches, _ = await masked_batches(
        marker + other, change, **machine(), most=1 << 20, at_least_one=True
    )

    assert batches == [marker, other]
    assert await masked_batches(
        marker, lambda value: b"", **machine(), most=1 << 20, at_least_one=True
    ) == ([marker], None)


async def test_a_truncated_batch_at_the_end_is_dropped(autojump_clock: MockClock) -> None:
    batch = batch_of(Codec.NONE)

    batches, _ = await masked_batches(
        batch + batch[:-1], change, **machine(), most=1 << 20, at_least_one=True
    )

    assert len(batches) == 1


@pytest.mark.parametrize(("at_least_one", "batch_count"), [(True, 1), (False, 0)])
async def test_masked_batches_that_exceed_the_size_limit_are_left_out(
    at_least_one: bool, batch_count: int, autojump_clock: MockClock
) -> None:
    batch = batch_of(Codec.NONE)
    grown = len(batch) + 3 * 5

    parts = machine()
    both, _ = await masked_batches(
        batch + batch,
        change,
        **parts,
        most=2 * grown,
        at_least_one=at_least_one,
    )
    first, _ = await masked_batches(
        batch + batch,
        change,
        **parts,
        most=2 * grown - 1,
        at_least_one=at_least_one,
    )
    few, _ = await masked_batches(
        batch + batch,
        change,
        **parts,
        most=grown - 1,
        at_least_one=at_least_one,
    )

    assert (len(both), len(first), len(few)) == (2, 1, batch_count)


async def test_an_unreadable_batch_ends_the_result_after_earlier_batches(
    autojump_clock: MockClock,
) -> None:
    good, bad = batch_of(Codec.NONE), encode_batch([Record(timestamp=1, value=b"bad")])

    def picky(value: bytes) -> bytes:
        if value == b"bad":
            raise UnreadableError("bad")
        return value

    batches, error = await masked_batches(
        good + bad + good, picky, **machine(), most=1 << 20, at_least_one=True
    )

    assert batches == [good]
    assert isinstance(error, UnreadableError)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.ZSTD])
async def test_a_batch_that_decompresses_above_the_bound_is_corrupt(
    codec: Codec, autojump_clock: MockClock
) -> None:
    good = batch_of(codec)
    bomb = encode_batch([Record(timestamp=1, value=bytes(UNPACKED))], codec=codec)

    batches, error = await masked_batches(
        good + bomb, change, **machine(), most=1 << 20, at_least_one=True
    )

    assert len(batches) == 1
    assert isinstance(error, KafkaError)
    assert error.code is ErrorCode.CORRUPT_MESSAGE


async def test_a_large_batch_below_the_decompression_bound_is_masked(
    autojump_clock: MockClock,
) -> None:
    records = [Record(timestamp=1, value=bytes(9 << 20)), Record(timestamp=1, value=b"secret")]

    (batch,), error = await masked_batches(
        encode_batch(records, codec=Codec.ZSTD),
        change,
        **machine(),
        most=1 << 20,
        at_least_one=True,
    )

    assert error is None
    _, last = read_records(batch, 0, read_header(batch))
    assert last.value == b"***********"
