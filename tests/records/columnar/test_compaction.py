"""Windows of records: capacity, null keys, malformed ones. Whole runs are in `log/cleaner`."""

import pytest

from trio_kafka.records.batch import Record, encode_batch, read_header
from trio_kafka.records.columnar.compaction import Compaction
from trio_kafka.records.columnar.key_table import SLOT_BYTES
from trio_kafka.records.header import HEADER_SIZE, BatchHeader

NOTHING = (0, 0, False, -1, None)


def batch(base_offset: int, *pairs: tuple[bytes | None, bytes | None]) -> tuple[BatchHeader, bytes]:
    records = [
        Record(key=key, value=value, timestamp=100 + number)
        for number, (key, value) in enumerate(pairs)
    ]
    encoded = encode_batch(records, base_offset)
    return read_header(encoded), encoded[HEADER_SIZE:]


def parts(*batches: tuple[BatchHeader, bytes]) -> tuple[list[BatchHeader], list[bytes]]:
    return [header for header, _ in batches], [block for _, block in batches]


def test_compaction_keeps_only_the_latest_record_of_each_key() -> None:
    compaction = Compaction(1 << 16, 0.9)
    old = batch(0, (b"a", b"1"), (b"b", b"1"), (b"a", b"2"))
    new = batch(3, (b"b", b"2"), (None, b"x"))

    assert compaction.index(*parts(old, new), 0) == 2
    first, second = compaction.filter(*parts(old, new), 4, now_ms=0)

    assert compaction.keys == 2
    assert first == (1, 0, False, 102, old[1][-len(old[1]) // 3 :])
    assert second[:4] == (1, 1, False, 100)
    assert first.content in old[1]
    assert second.content in new[1]


def test_compaction_keeps_records_after_the_last_indexed_offset() -> None:
    compaction = Compaction(1 << 16, 0.9)
    later = batch(5, (b"a", None), (None, b"x"), (b"a", b"1"))

    (result,) = compaction.filter(*parts(later), 4, now_ms=0)

    assert result == (3, 0, True, 102, later[1])


def test_compaction_does_not_index_records_before_the_start_offset() -> None:
    compaction = Compaction(1 << 16, 0.9)
    first_batch = batch(0, (b"a", b"1"), (b"b", b"1"))

    compaction.index(*parts(first_batch), 1)

    assert compaction.keys == 1


def test_compaction_indexes_batches_until_the_key_table_is_full() -> None:
    compaction = Compaction(12 * SLOT_BYTES, 0.5)  # five keys
    repeated = batch(0, *((b"a", b"1") for _ in range(20)))
    three = batch(20, (b"b", b"1"), (b"c", b"1"), (b"a", b"2"))
    three_more = batch(23, (b"d", b"1"), (b"e", b"1"), (b"f", b"1"))
    empty = (read_header(encode_batch([Record()], 26)), b"")
    empty[0].count = 0

    assert compaction.index(*parts(repeated, empty, three, three_more), 0) == 3
    assert compaction.keys == 3
    assert compaction.utilization == pytest.approx(3 / 11)


def test_compaction_skips_empty_batches() -> None:
    compaction = Compaction(1 << 16, 0.9)
    header = read_header(encode_batch([Record()], 0))
    header.count = 0

    assert compaction.index([header], [b""], 0) == 1
    assert compaction.filter([header], [b""], 0, now_ms=0) == [NOTHING]


@pytest.mark.parametrize("count", [-1, 2, 1 << 30])
def test_compaction_index_refuses_a_batch_with_a_wrong_record_count(count: int) -> None:
    header, block = batch(0, (b"a", b"1"))
    header.count = count

    with pytest.raises(ValueError, match="malformed"):
        Compaction(1 << 16, 0.9).index([header], [block], 0)


def test_compaction_filter_refuses_a_truncated_record() -> None:
    header, block = batch(0, (b"a", b"1" * 20))

    with pytest.raises(ValueError, match="malformed"):
        Compaction(1 << 16, 0.9).filter([header], [block[:-1]], 0, now_ms=0)
