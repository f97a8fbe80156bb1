import struct
import zlib

import pytest

from tests.log.cleaner.kit import data_batch, new_directory, read_file, rules, run, write_segments
from trio_kafka.errors import KafkaError
from trio_kafka.log.cleaner.job import CleaningJob
from trio_kafka.log.cleaner.old_formats import SMALLEST, is_old, read_old
from trio_kafka.log.files.names import LOG
from trio_kafka.records.batch import Record


def message(offset: int, magic: int, key: bytes = b"k", timestamp: int = 7) -> bytes:
    body = bytes([magic, 0])
    if magic:
        body += struct.pack(">q", timestamp)
    body += struct.pack(">i", len(key)) + key + struct.pack(">i", -1)
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


@pytest.mark.parametrize(("magic", "timestamp"), [(0, -1), (1, 7)])
def test_message_of_an_old_format_is_read_as_a_header_of_one_record(
    magic: int, timestamp: int
) -> None:
    entry = message(5, magic)

    assert is_old(b"before" + entry, 6)
    header = read_old(b"before" + entry, 6)

    assert header is not None
    assert (header.base_offset, header.last_offset, header.size) == (5, 5, len(entry))
    assert (header.magic, header.max_timestamp, header.count) == (magic, timestamp, 1)
    assert not header.is_control
    assert read_old(entry[:-1], 0) is None


def test_batches_and_zeros_are_not_taken_for_old_messages() -> None:
    assert not is_old(data_batch(0, [Record(key=b"a")]), 0)
    assert not is_old(bytes(100), 0)
    assert len(message(0, 0, b"")) == SMALLEST
    assert is_old(message(0, 0, b""), 0)


def test_old_message_with_a_wrong_checksum_is_an_error() -> None:
    entry = bytearray(message(5, 1))
    entry[-1] ^= 1

    with pytest.raises(KafkaError, match="crc"):
        read_old(entry, 0)


@pytest.mark.parametrize("columnar", [False, True])
def test_cleaner_copies_old_messages_unchanged_and_compacts_the_batches(columnar: bool) -> None:
    old = [message(offset, offset % 2, b"k" * offset) for offset in range(40)]
    replaced = data_batch(40, [Record(key=b"k", value=b"1")])
    latest = data_batch(41, [Record(key=b"k", value=b"2")])
    tail = message(42, 0, b"")
    directory = new_directory()
    job = CleaningJob(
        rules=rules(),
        segments=write_segments(directory, {0: [*old, replaced, latest, tail]}),
        first_dirty_offset=0,
        first_uncleanable_offset=43,
        columnar=columnar,
    )

    done = run(directory, job)

    file = read_file(directory, job.name(0, LOG))
    assert file == b"".join([*old, latest, tail])
    assert done.end_offset == 43
    assert done.stats.messages_read == 43
    assert done.stats.messages_written == 42
