"""Aborted and open transactions, compared with what Apache Kafka noted."""

import struct

import pytest

from tests.records.kit import encode_marker
from tests.trio_kafka_spark.log.kit import batch, flip, partition, positions, sample, segment
from trio_kafka.records.control import Marker
from trio_kafka_spark.log.directories import find_partitions
from trio_kafka_spark.log.splits import partition_pieces
from trio_kafka_spark.log.transactions import transactions


def refuse(bad):
    raise ValueError(str(bad))


def transactions_in(root, on_bad=refuse):
    pieces = list(
        partition_pieces(find_partitions([str(root)])[0], start=0, stop=1 << 62, split_bytes=500)
    )
    return transactions(pieces, on_bad)


def data(offset, producer):
    return batch(
        offset, 2, producer_id=producer, producer_epoch=0, base_sequence=0, transactional=True
    )


def marker(offset, producer, *, committed):
    return encode_marker(
        Marker(committed=committed, coordinator_epoch=0),
        producer_id=producer,
        producer_epoch=0,
        timestamp=0,
        base_offset=offset,
    )


def test_aborted_transactions_equal_the_transaction_index_of_apache_kafka(tmp_path):
    directory = sample(tmp_path, "txn") / "txn-0"
    entries = struct.iter_unpack(
        ">hqqqq", (directory / "00000000000000000005.txnindex").read_bytes()
    )

    seen = transactions_in(tmp_path)

    assert seen.aborted == tuple((entry[1], entry[2], entry[3]) for entry in entries)
    assert len(seen.aborted) == 2
    assert seen.stable_offset == 31


def test_transactions_that_span_segments_are_found(tmp_path):
    directory = partition(tmp_path)
    segment(directory, [data(0, 1), data(2, 2), marker(4, 2, committed=True)])
    segment(directory, [data(5, 1), marker(7, 1, committed=False), data(8, 1), data(10, 3)])

    seen = transactions_in(tmp_path)

    assert seen.aborted == ((1, 0, 7),)
    assert seen.stable_offset == 8


def test_a_marker_without_records_aborts_nothing(tmp_path):
    segment(partition(tmp_path), [marker(4, 2, committed=False), batch(5)], base=4)

    assert transactions_in(tmp_path).aborted == ()
    assert transactions_in(tmp_path).stable_offset is None


def test_transactions_around_a_corrupt_batch_are_found_and_the_damage_is_reported(tmp_path):
    path = segment(
        partition(tmp_path), [data(0, 1), batch(2), data(12, 2), marker(14, 1, committed=False)]
    )
    damaged = positions(path)[1]
    flip(path, damaged + 16)
    bad = []

    assert transactions_in(tmp_path, bad.append).aborted == ((1, 0, 14),)
    assert [damage.position for damage in bad] == [damaged]
    with pytest.raises(ValueError, match=f"position {damaged}"):
        transactions_in(tmp_path)


def test_a_control_batch_without_a_valid_marker_is_reported_as_damage(tmp_path):
    directory = partition(tmp_path)
    lie = batch(2, 1, producer_id=1, producer_epoch=0, transactional=True, control=True)
    segment(directory, [data(0, 1), lie, batch(3)])
    bad = []

    transactions_in(tmp_path, bad.append)

    assert [damage.position for damage in bad] == [len(data(0, 1))]
