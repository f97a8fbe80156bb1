from pathlib import Path
from struct import pack

import pytest

from tests.cli.log.kit import records, write_log
from tests.records.kit import encode_batch, encode_marker
from trio_kafka.cli.log.batches import Batch, read_batches
from trio_kafka.cli.log.findings import Level
from trio_kafka.cli.log.places import classify
from trio_kafka.cli.log.transaction_checks import Transactions
from trio_kafka.records.control import Marker
from trio_kafka.world.blocking_file import open_reader


def data(offset: int, producer: int) -> bytes:
    return encode_batch(
        records("v"),
        offset,
        0,
        producer_id=producer,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )


def marker_batch(offset: int, producer: int, *, committed: bool) -> bytes:
    marker = Marker(committed=committed, coordinator_epoch=0)
    return encode_marker(
        marker, producer_id=producer, producer_epoch=0, timestamp=1, base_offset=offset
    )


# Producer 1 aborts 0..3, producer 2 is open from 1 on, and commits at 4.
LOG = [
    data(0, 1),
    data(1, 2),
    data(2, 1),
    marker_batch(3, 1, committed=False),
    marker_batch(4, 2, committed=True),
]


def seen(folder: Path, batches: list[bytes]) -> tuple[Transactions, Path]:
    log = write_log(folder / "t-0", 0, batches)
    result = Transactions()
    with open_reader(log) as reader:
        for piece in read_batches(reader):
            assert isinstance(piece, Batch)
            result.see(piece)
    return result, log


def check(folder: Path, content: bytes | None, batches: list[bytes] = LOG) -> list[str]:
    result, path = seen(folder, batches)
    log, index = classify(path), classify(path.with_suffix(".txnindex"))
    assert log is not None
    assert index is not None
    if content is not None:
        index.path.write_bytes(content)
    checked_index = index if content is not None else None
    return [finding.text for finding in result.check(log, checked_index, Level.ERROR)]


def entry(producer: int, first: int, last: int, stable: int) -> bytes:
    return pack(">hqqqq", 0, producer, first, last, stable)


def test_open_committed_and_aborted_transactions_are_counted(tmp_path: Path) -> None:
    result, _ = seen(tmp_path, [*LOG, data(5, 3)])

    assert (result.committed, result.aborts, result.open) == (1, 1, {3: 5})


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (entry(1, 0, 3, 1), None),
        (None, "was aborted here and has no entry"),
        (entry(1, 2, 3, 1), "first offset 2, the transaction began at 0"),
        (entry(1, 0, 3, 4), "last stable offset 4, it was 1"),
        (entry(2, 0, 3, 1), "no abort marker of producer 2"),
        (entry(1, 0, 3, 1) + entry(1, 4, 4, 5), "no abort marker of producer 1"),
        (entry(1, 0, 3, 1)[:-1], "multiple of 34"),
    ],
)
def test_transaction_index_is_compared_with_the_abort_markers(
    content: bytes | None, text: str | None, tmp_path: Path
) -> None:
    result = check(tmp_path, content)

    assert (text is None) == (result == [])
    assert text is None or text in result[0]


def test_transaction_that_began_before_the_log_needs_no_index_entry(tmp_path: Path) -> None:
    assert check(tmp_path, None, [marker_batch(0, 1, committed=False)]) == []


def test_missing_transaction_index_entries_are_not_reported_after_damage(tmp_path: Path) -> None:
    result, path = seen(tmp_path, LOG)
    result.lose()
    log = classify(path)
    assert log is not None

    assert list(result.check(log, None, Level.ERROR)) == []
