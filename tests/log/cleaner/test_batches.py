import struct
from collections.abc import Sequence

import pytest

from tests.log.cleaner.kit import data_batch, header_of, new_directory, write_segments
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.cleaner import batches
from trio_kafka.log.cleaner.batches import PADDING, Batch, SegmentReader, unpack
from trio_kafka.log.cleaner.job import CleaningError, Compute, Pause, Step
from trio_kafka.log.cleaner.pace import Pace
from trio_kafka.records.batch import Record
from trio_kafka.records.compression import Codec
from trio_kafka.world.protocols import Directory

PATH = "/compacted-0/00000000000000000000.log"


def batch_at(offset: int, size: int = 13) -> bytes:
    return data_batch(offset, [Record(key=b"k", value=bytes(size))])


def finish(work, steps: list[Step] | None = None):
    """Perform all steps; return the result."""
    result = None
    while True:
        try:
            step = work.send(result)
        except StopIteration as stop:
            return stop.value
        if steps is not None:
            steps.append(step)
        result = None
        if isinstance(step, Compute):
            result = step.call()
        elif not isinstance(step, Pause):
            result = step.now()


def reader(
    content: bytes | Sequence[bytes], *, end: int = 1000, size: int = 4096
) -> tuple[SegmentReader, Pace]:
    directory: Directory = new_directory()
    write_segments(directory, {0: [content] if isinstance(content, bytes) else content})
    pace = Pace()
    buffer = memoryview(bytearray(size + PADDING))
    return finish(SegmentReader.open(directory, 0, end, pace=pace, buffer=buffer)), pace


def read_all(segment_reader: SegmentReader, skip_below: int = 0) -> list[list[tuple[int, bytes]]]:
    chunks = []
    while chunk := finish(segment_reader.next_chunk(skip_below)):
        chunks.append([(batch.position, bytes(batch.data)) for batch in chunk])
    return chunks


def test_batches_are_read_in_chunks_with_their_positions() -> None:
    written = [batch_at(offset, 300 + offset) for offset in range(40)]
    result, pace = reader(written)

    chunks = read_all(result)

    assert [data for chunk in chunks for _, data in chunk] == written
    assert [position for chunk in chunks for position, _ in chunk] == [
        sum(map(len, written[:number])) for number in range(40)
    ]
    assert len(chunks) > 3
    assert pace.moved >= sum(map(len, written))


def test_a_batch_larger_than_the_buffer_is_read_whole() -> None:
    written = [batch_at(0), batch_at(1, 20_000), batch_at(2)]
    result, _ = reader(written)

    assert [[data for _, data in chunk] for chunk in read_all(result)] == [
        written[:1],
        written[1:2],
        written[2:],
    ]


def test_an_empty_segment_has_no_batches() -> None:
    assert read_all(reader(b"")[0]) == []


def test_batches_below_an_offset_are_not_checked() -> None:
    bad = bytearray(batch_at(0, 3000))
    bad[-1] ^= 1
    result, _ = reader([bytes(bad), batch_at(1, 3000), batch_at(2)])

    assert [data for chunk in read_all(result, 2) for _, data in chunk] == [batch_at(2)]


@pytest.mark.parametrize(
    ("damage", "position", "reason"),
    [
        (lambda log: log[:100] + b"\1" + log[101:], 82, "crc"),
        (lambda log: log[:-1], 82, "batch of 82 bytes, 81 are left"),
        (lambda log: log + b"\0" * 10, 164, "10 bytes, want 61"),
        (lambda log: log + b"\2" * 30, 164, "30 bytes, want 61"),
        (lambda log: log + b"\0" * 100, 164, "length is too small"),
        (lambda log: log[:90] + b"\0\0\0\0" + log[94:], 82, "length 0"),
        (lambda log: log[:90] + b"\x80\0\0\0" + log[94:], 82, "length -"),
        (lambda log: log[:98] + b"\1" + log[99:], 82, "of the message at position"),
        (lambda log: log[:98] + b"\3" + log[99:], 82, "magic 3"),
        (lambda log: log + log[:82], 164, "offsets 0 to 0 and 1 records, want offsets from 2"),
        (lambda log: log + batch_at(999) + batch_at(1000), 246, "to 999"),
    ],
)
def test_damaged_batch_is_reported_with_its_position(damage, position: int, reason: str) -> None:
    result, _ = reader(damage(batch_at(0) + batch_at(1)))

    with pytest.raises(CleaningError) as caught:
        read_all(result)

    assert (caught.value.path, caught.value.position) == (PATH, position)
    assert reason in caught.value.reason


def test_batch_whose_last_offset_is_below_its_base_offset_is_damage() -> None:
    bad = bytearray(batch_at(3))
    struct.pack_into(">i", bad, 23, -1)
    header = header_of(batch_at(3))
    header.last_offset_delta = -1
    result, _ = reader(b"")

    with pytest.raises(CleaningError, match="offsets 3 to 2"):
        result._check_offsets(header, 0)


def test_segment_file_cut_by_another_program_is_damage() -> None:
    result, _ = reader(batch_at(0) + batch_at(1))
    result._file._node.truncate(100)
    result._file = type("Longer", (), {"size": 164, "try_read": result._file.try_read})()

    with pytest.raises(CleaningError, match="shorter than before"):
        read_all(result)


def batch_of(records: Sequence[Record], codec: Codec) -> Batch:
    data = data_batch(0, records, codec=codec)
    return Batch(0, header_of(data), memoryview(data))


@pytest.mark.parametrize("codec", Codec)
def test_small_batches_are_decompressed_without_a_step(codec: Codec) -> None:
    records = [Record(key=b"a", value=b"1" * 1000)]
    steps: list[Step] = []

    plain = finish(unpack(batch_of(records, codec)), steps)

    assert plain == data_batch(0, records)[61:]
    assert steps == []


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_large_batches_are_decompressed_in_one_compute_step(codec: Codec) -> None:
    records = [Record(key=b"a", value=b"1" * 1_000_000)]
    steps: list[Step] = []

    plain = finish(unpack(batch_of(records, codec)), steps)

    assert plain == data_batch(0, records)[61:]
    assert [type(step) for step in steps] == [Compute]


def test_batch_above_the_decompression_limit_is_a_corrupt_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batches, "DECOMPRESSED_LIMIT", 500_000)

    with pytest.raises(KafkaError) as caught:
        finish(unpack(batch_of([Record(value=b"1" * 1_000_000)], Codec.ZSTD)))

    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
