import pytest

from tests.log.kit import content_of, fill, sample
from trio_kafka.log.files.open_files import OpenFiles
from trio_kafka.log.files.operations import run_in_threads, run_now
from trio_kafka.log.index.aborted_transactions import AbortedTransaction
from trio_kafka.log.index.entries import CorruptIndexError
from trio_kafka.log.index.transaction import TransactionIndex

NAME = "00000000000000000005.txnindex"
ABORTED = [
    AbortedTransaction(producer_id=5, first_offset=6, last_offset=11, last_stable_offset=12),
    AbortedTransaction(producer_id=5, first_offset=18, last_offset=28, last_stable_offset=29),
]


async def test_transaction_index_of_apache_kafka_is_read_and_written_unchanged(
    autojump_clock, world
):
    root = world.directory("/data", create=True)
    content = sample("txn")["txn-0"][NAME]
    await fill(root, {NAME: content})
    index = TransactionIndex(root, 5, sealed=True)

    assert list(await run_in_threads(index.all())) == ABORTED
    run_now(index.write())
    await index.sync()

    assert await content_of(root, NAME) == content


async def test_transaction_index_without_aborted_transactions_has_no_file(autojump_clock, world):
    root = world.directory("/data", create=True)
    index = TransactionIndex(root, 5)

    run_now(index.write())
    assert root.names() == []
    index.append(ABORTED[0])
    run_now(index.write())

    assert root.names() == [NAME]


async def test_cut_removes_transactions_that_end_at_or_above_its_offset(autojump_clock, world):
    index = TransactionIndex(world.directory("/data", create=True), 5)
    for aborted in ABORTED:
        index.append(aborted)

    index.cut(28)

    assert list(await run_in_threads(index.all())) == ABORTED[:1]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-1],
        lambda content: b"",
        lambda content: b"\0\1" + content[2:],
        lambda content: bytes(len(content)),
        lambda content: content[34:] + content[:34],
    ],
    ids=["truncated", "empty", "newer", "zeroed", "swapped"],
)
async def test_damaged_transaction_index_is_corrupt(autojump_clock, world, damage):
    root = world.directory("/data", create=True)
    content = sample("txn")["txn-0"][NAME]
    await fill(root, {NAME: damage(content)})
    index = TransactionIndex(root, 5, sealed=True)

    with pytest.raises(CorruptIndexError):
        await run_in_threads(index.all())


async def test_transaction_index_keeps_no_file_open_once_read_or_durable(autojump_clock, world):
    root, files = world.directory("/data", create=True), OpenFiles()
    index = TransactionIndex(root, 0, files=files)
    aborted = AbortedTransaction(producer_id=1, first_offset=2, last_offset=3, last_stable_offset=3)
    index.append(aborted)
    run_now(index.write())
    await index.sync()
    index.settle()

    again = TransactionIndex(root, 0, sealed=True, files=files)

    assert await run_in_threads(again.all()) == (aborted,)
    assert index._file is again._file is None
    assert files.figures()["open"] == 0


async def test_transactions_between_two_offsets_are_those_with_records_or_markers_there(
    autojump_clock, world
):
    index = TransactionIndex(world.directory("/data", create=True), 5)
    for aborted in ABORTED:
        index.append(aborted)

    pairs = [run_now(index.between(*pair)) for pair in ((5, 7), (12, 18), (12, 19), (29, 40))]
    between = [(list(aborted), is_complete) for aborted, is_complete in pairs]

    first, second = ABORTED
    assert between == [([first], True), ([], True), ([second], True), ([], False)]
