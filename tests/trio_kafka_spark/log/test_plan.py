"""Offsets that are read, and what is refused before anything is read."""

import pickle

import pytest

from tests.records.kit import encode_marker
from tests.trio_kafka_spark.log.kit import batch, flip, log, partition, positions, sample, segment
from trio_kafka.records.control import Marker
from trio_kafka_spark.client.errors import OptionError, SourceError
from trio_kafka_spark.log.directories import find_partitions
from trio_kafka_spark.log.options import LogOptions
from trio_kafka_spark.log.plan import CorruptLogError, plan_pieces, plan_ranges, refuse
from trio_kafka_spark.log.windows import BadBytes


def options(root, **more):
    if not {"subscribePattern", "assign"} & set(more):
        more.setdefault("subscribe", "t")
    return LogOptions.from_options({"path": str(root), **more})


def spans(root, **more):
    """(first, end) offset by partition."""
    result: dict[str, tuple[int, int]] = {}
    for pack in plan_pieces(options(root, **more)):
        for piece in pack:
            name = str(piece.at)
            result[name] = (result.get(name, (piece.start, 0))[0], piece.stop)
    return result


@pytest.fixture
def root(tmp_path):
    log(tmp_path)
    segment(partition(tmp_path, 1), [batch(100), batch(110)])
    segment(partition(tmp_path, 0, "u"), [batch(0)])
    return tmp_path


@pytest.mark.parametrize(
    ("reader_options", "want"),
    [
        ({}, {"t-0": (0, 120), "t-1": (100, 120)}),
        ({"subscribe": "u"}, {"u-0": (0, 10)}),
        ({"subscribePattern": "[tu]"}, {"t-0": (0, 120), "t-1": (100, 120), "u-0": (0, 10)}),
        ({"subscribePattern": "x"}, {}),
        ({"assign": '{"t": [1]}'}, {"t-1": (100, 120)}),
        ({"startingOffsets": '{"t": {"0": 55}}'}, {"t-0": (55, 120), "t-1": (100, 120)}),
        ({"startingOffsets": '{"t": {"0": -1}}'}, {"t-1": (100, 120)}),
        ({"startingOffsets": '{"t": {"0": -2, "1": 7}}'}, {"t-0": (0, 120), "t-1": (100, 120)}),
        ({"endingOffsets": '{"t": {"0": 55, "1": -1}}'}, {"t-0": (0, 55), "t-1": (100, 120)}),
        ({"endingOffsets": '{"t": {"0": -2, "1": 999}}'}, {"t-1": (100, 120)}),
    ],
)
def test_a_plan_has_the_offsets_of_the_options_with_any_split_size(root, reader_options, want):
    assert spans(root, **reader_options) == want
    assert spans(root, splitBytes="1", **reader_options) == want


def test_a_plan_starts_at_the_log_start_offset_of_the_checkpoint(tmp_path):
    sample(tmp_path, "trimmed")
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\ntrimmed 0 25\n")

    assert spans(tmp_path, subscribe="trimmed") == {"trimmed-0": (25, 40)}


@pytest.mark.parametrize("reader_options", [{"subscribe": "t,w"}, {"assign": '{"t": [2]}'}])
def test_an_error_names_a_wanted_topic_or_partition_without_a_directory(root, reader_options):
    with pytest.raises(SourceError, match=r"KAFKA_UNKNOWN_TOPIC.* no directory of (w|t-2) in"):
        spans(root, **reader_options)


def test_starting_offsets_of_an_unselected_partition_are_refused(root):
    with pytest.raises(OptionError, match="startingOffsets: names u-0"):
        spans(root, startingOffsets='{"u": {"0": 1}}')


def test_offsets_out_of_range_fail_if_fail_on_data_loss_is_set(root):
    lost = {"failOnDataLoss": "true", "subscribe": "t"}

    with pytest.raises(SourceError, match="t-1 begins at offset 100, startingOffsets wants 7"):
        spans(root, startingOffsets='{"t": {"1": 7}}', **lost)
    with pytest.raises(SourceError, match="t-1 ends at offset 120, endingOffsets wants 121"):
        spans(root, endingOffsets='{"t": {"1": 121}}', **lost)
    assert spans(root, endingOffsets='{"t": {"1": 120}}', **lost)["t-1"] == (100, 120)


def test_a_read_committed_plan_ends_before_the_oldest_open_transaction(tmp_path):
    sample(tmp_path, "txn")

    assert spans(tmp_path, subscribe="txn") == {"txn-0": (0, 34)}
    assert spans(tmp_path, subscribe="txn", isolation="read_committed") == {"txn-0": (0, 31)}
    pieces = plan_pieces(options(tmp_path, subscribe="txn", isolation="read_committed"))
    assert (
        len({transaction for pack in pieces for piece in pack for transaction in piece.aborted})
        == 2
    )


def test_a_read_committed_plan_has_transactions_of_segments_merged_after_their_listing(
    tmp_path, monkeypatch
):
    directory = partition(tmp_path)
    begun = batch(0, 2, producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    ended = encode_marker(
        Marker(committed=False, coordinator_epoch=0),
        producer_id=1,
        producer_epoch=0,
        timestamp=0,
        base_offset=2,
    )
    first, second = segment(directory, [begun]), segment(directory, [ended])
    segment(directory, [batch(3)])
    listed = find_partitions([str(tmp_path)])
    monkeypatch.setattr("trio_kafka_spark.log.plan.find_partitions", lambda *_: listed)
    cleaned = directory / "00000000000000000000.log.cleaned"
    cleaned.write_bytes(begun + ended)
    second.unlink()
    cleaned.rename(first)

    (pieces,) = plan_pieces(options(tmp_path, isolation="read_committed"))

    assert {piece.aborted for piece in pieces if piece.start == 0} == {((1, 0, 2),)}
    assert pieces[-1].stop == 13


def test_a_read_committed_plan_fails_at_a_corrupt_batch_unless_permissive(tmp_path):
    path = log(tmp_path, segments=1) / "00000000000000000000.log"
    flip(path, positions(path)[1] + 16)

    with pytest.raises(CorruptLogError, match=r"position .* set mode to permissive"):
        spans(tmp_path, isolation="read_committed")
    assert spans(tmp_path, isolation="read_committed", mode="permissive") == {"t-0": (0, 40)}


def test_plans_options_and_corruption_errors_survive_pickling(root):
    bad = BadBytes(
        at=plan_ranges(options(root))[0].partition.at, path="x", position=1, size=2, reason="r"
    )

    for value in (plan_pieces(options(root)), plan_ranges(options(root)), options(root)):
        assert pickle.loads(pickle.dumps(value)) == value
    with pytest.raises(CorruptLogError) as caught:
        refuse(bad)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert again.bad == bad
