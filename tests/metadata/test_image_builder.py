"""Batches become images; transactions whole or not at all."""

import pytest

from tests.metadata.kit import ID_1, ID_2, committed, everything, image_of
from trio_kafka.errors import InvariantError
from trio_kafka.metadata.image_builder import ImageBuilder
from trio_kafka.metadata.source import MetadataRecord
from trio_kafka.model import NodeId
from trio_kafka.protocol.stored.metadata.topics import TopicRecord
from trio_kafka.protocol.stored.metadata.transactions import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)


def take(assembly: ImageBuilder, records: list[MetadataRecord], **others: object) -> None:
    for _ in assembly.take(committed(records, assembly.offset, **others)):
        continue


def test_several_batches_are_published_as_one_delta() -> None:
    assembly = ImageBuilder("c")
    start = assembly.published

    take(assembly, [], leader_id=NodeId(4))
    take(assembly, [TopicRecord(name="a", topic_id=ID_1)])
    take(assembly, [TopicRecord(name="b", topic_id=ID_2)])
    result = assembly.finish()

    assert result is not None
    assert result[0].image is start
    assert list(result[0].topics) == [ID_1, ID_2]
    assert (result[1].offset, result[1].leader_id, result[1].cluster_id) == (2, 4, "c")
    assert assembly.finish() is None


def test_metadata_transaction_is_not_in_the_image_before_its_end() -> None:
    assembly = ImageBuilder("c")
    before = TopicRecord(name="a", topic_id=ID_1)

    take(assembly, [before, BeginTransactionRecord(), TopicRecord(name="b", topic_id=ID_2)])
    half = assembly.finish()
    take(assembly, [EndTransactionRecord()])
    whole = assembly.finish()

    assert half is not None
    assert whole is not None
    assert (list(half[1].topics), half[1].offset) == (["a"], 1)
    assert list(whole[0].topics) == [ID_2]
    assert (list(whole[1].topics), whole[1].offset) == (["a", "b"], 4)


def test_aborted_metadata_transaction_is_not_in_the_image() -> None:
    assembly = ImageBuilder("c")

    take(assembly, [BeginTransactionRecord(), TopicRecord(name="b", topic_id=ID_2)])
    take(assembly, [AbortTransactionRecord(), TopicRecord(name="b", topic_id=ID_1)])
    result = assembly.finish()

    assert result is not None
    assert result[1].topics["b"].id == ID_1
    assert result[1].offset == 4


@pytest.mark.parametrize(
    "wrong", [[EndTransactionRecord()], [BeginTransactionRecord(), BeginTransactionRecord()]]
)
def test_metadata_transaction_that_begins_twice_or_ends_without_begin_breaks_an_invariant(
    wrong: list[MetadataRecord],
) -> None:
    with pytest.raises(InvariantError):
        take(ImageBuilder("c"), wrong)


def test_snapshot_replaces_the_image_and_its_delta_names_deleted_topics() -> None:
    assembly = ImageBuilder("c")
    take(assembly, everything())
    assembly.finish()
    rest = [record for record in everything() if "Topic" not in type(record).__name__]
    rest = [record for record in rest if "Partition" not in type(record).__name__]

    batch = committed(rest, 0, snapshot=True)
    for _ in assembly.take(batch):
        continue
    assembly.offset = 500
    result = assembly.finish()

    assert result is not None
    assert result[0].deleted_topics == {ID_1: "a", ID_2: "b"}
    assert not result[1].topics
    assert result[1].brokers == image_of(everything()).brokers
