"""Batches with other values: what stays as it is, and what is left out."""

import pytest
from trio.testing import MockClock

from tests.log.kit import decompression
from tests.records.kit import encode_batch, encode_marker
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.plugin_host.changed_batches import UNPACKED, changed_batches
from trio_kafka.records.batch import Record, read_header, read_records
from trio_kafka.records.compression import Codec
from trio_kafka.records.control import Marker
from trio_kafka.records.header import check_crc
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.protocols import Buffer


def upper(value: bytes) -> bytes:
    return value.upper()


async def changed(data: Buffer) -> Buffer:
    world = simulated_world()
    return await changed_batches(data, upper, world, decompression=decompression(world))


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("count", [3, 5000])
async def test_a_changed_batch_keeps_its_producer_and_its_offsets(
    codec: Codec, count: int, autojump_clock: MockClock
) -> None:
    records = [Record(timestamp=1000 + n, key=b"k", value=b"a%d" % n) for n in range(count)]
    data = encode_batch(
        records, 40, 5, codec=codec, producer_id=9, producer_epoch=2, base_sequence=17
    )

    result = await changed(data)

    before, after = read_header(data), read_header(result)
    check_crc(result, 0, after)
    for name in ("base_offset", "producer_id", "producer_epoch", "base_sequence", "attributes"):
        assert getattr(before, name) == getattr(after, name)
    assert [record.value for record in read_records(result, 0, after)] == [
        b"A%d" % n for n in range(count)
    ]


async def test_control_batches_and_unchanged_batches_keep_their_bytes(
    autojump_clock: MockClock,
) -> None:
    marker = encode_marker(
        Marker(committed=True, coordinator_epoch=1), producer_id=1, producer_epoch=0, timestamp=5
    )
    other = encode_batch([Record(timestamp=1, value=b"A")], codec=Codec.GZIP)
    lower = encode_batch([Record(timestamp=1, value=b"a")])

    result = bytes(await changed(marker + other + lower))

    assert result.startswith(marker + other)
    assert result[len(marker + other) :] == encode_batch([Record(timestamp=1, value=b"A")])


async def test_without_a_change_the_same_object_is_returned(autojump_clock: MockClock) -> None:
    data = encode_batch([Record(timestamp=1, value=b"A")])

    assert await changed(data) is data


async def test_a_truncated_last_batch_is_left_out(autojump_clock: MockClock) -> None:
    upper_case = encode_batch([Record(timestamp=1, value=b"A")])
    lower_case = encode_batch([Record(timestamp=1, value=b"a")])

    assert bytes(await changed(upper_case + upper_case[:-1])) == upper_case
    assert bytes(await changed(lower_case + lower_case[:-1])) == upper_case


async def test_records_that_decompress_above_the_bound_raise_corrupt_message(
    autojump_clock: MockClock,
) -> None:
    bomb = encode_batch([Record(timestamp=1, value=bytes(UNPACKED))], codec=Codec.ZSTD)

    with pytest.raises(KafkaError) as caught:
        await changed(bomb)

    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
