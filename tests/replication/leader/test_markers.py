"""Markers end transactions in the partitions that are led here."""

from attrs import evolve

from tests.replication.kit import (
    PEER,
    batch,
    content,
    new_partition,
    open_cluster,
    park,
    serve,
    state,
    try_complete,
    want,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.log.append import Appended
from trio_kafka.log.read import read_bytes
from trio_kafka.metadata.names import CONSUMER_OFFSETS
from trio_kafka.model import TopicPartition
from trio_kafka.purgatory import Delayed
from trio_kafka.records.batch import read_header, read_records
from trio_kafka.records.control import Marker, read_marker
from trio_kafka.replication.leader.append import append_own
from trio_kafka.replication.leader.fetch import Fetch, FetchLimits
from trio_kafka.replication.leader.markers import LocalMarkers, TransactionMarker, append_marker
from trio_kafka.replication.leader.read import Isolation, read
from trio_kafka.replication.leader.sessions import Session
from trio_kafka.scheduling.chunked_work import whole

AT = TopicPartition("t", 0)
ABORT = TransactionMarker(
    producer_id=7,
    producer_epoch=3,
    coordinator_epoch=9,
    is_commit=False,
    transaction_version=1,
    partitions=(AT,),
)
COMMIT = evolve(ABORT, is_commit=True)


def begin(partition, epoch: int = 3, **fields) -> None:
    """One batch of an open transaction."""
    sent = {"producer_id": 7, "producer_epoch": epoch, "base_sequence": 0, **fields}
    append_own(partition, batch(2, transactional=True, **sent), acks=1)


def committed(partition) -> int:
    """Bytes that a read_committed reader sees from the beginning."""
    return content(read(partition, want(), 1 << 20, Isolation.READ_COMMITTED, True))


async def test_marker_is_a_control_batch_in_the_name_of_the_producer(world, autojump_clock) -> None:
    partition, _ = new_partition(world)
    begin(partition)

    appended = append_marker(partition, ABORT)

    assert isinstance(appended, Appended)
    stored = await read_bytes(partition.log, appended.first_offset, 1000)
    header = read_header(stored)
    (record,) = read_records(stored, 0, header)
    assert (header.producer_id, header.producer_epoch) == (7, 3)
    assert header.is_control
    assert header.is_transactional
    assert header.base_timestamp == partition.log.now_ms()
    assert read_marker(record) == Marker(committed=False, coordinator_epoch=9)


async def test_marker_ends_the_transaction_and_moves_the_last_stable_offset(world) -> None:
    partition, _ = new_partition(world)
    begin(partition)
    assert partition.log.last_stable_offset == 0

    append_marker(partition, COMMIT)

    assert partition.log.last_stable_offset == partition.log.end_offset == 3
    assert committed(partition) == partition.log.size


async def test_marker_wakes_a_fetch_that_waits_for_the_end_of_the_transaction(world) -> None:
    partition, _ = new_partition(world)
    begin(partition)
    watched: dict = {}
    session = Session(id=7, epoch=1, attach=watched.setdefault, detach=lambda *_: None)
    session.update({("t", 0): want()}, [])
    partition.changed = lambda key: key in watched and watched[key].marked(key)
    limits = FetchLimits(isolation=Isolation.READ_COMMITTED)
    fetch = Fetch(session, limits, lambda _: partition, full=False)
    assert whole(fetch.look()) is None

    begin(partition, base_sequence=2)
    assert try_complete(fetch, False) is None
    append_marker(partition, COMMIT)

    answer = try_complete(fetch, False)
    assert answer is not None
    answer.release()


async def test_marker_of_an_older_epoch_or_coordinator_is_rejected_and_not_written(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})
    partition = cluster.replicas.partition("t", 0)
    markers = LocalMarkers(cluster.replicas)
    begin(partition)
    end = partition.log.end_offset

    older = markers.write(evolve(ABORT, producer_epoch=2))
    strict = markers.write(evolve(ABORT, transaction_version=2))
    assert partition.log.end_offset == end
    accepted = markers.write(ABORT)
    fenced = markers.write(evolve(ABORT, coordinator_epoch=8))

    assert older == strict == {AT: ErrorCode.INVALID_PRODUCER_EPOCH}
    assert accepted == {AT: ErrorCode.NONE}
    assert fenced == {AT: ErrorCode.TRANSACTION_COORDINATOR_FENCED}
    assert partition.log.end_offset == end + 1


async def test_marker_of_a_missing_partition_or_one_led_elsewhere_has_its_error(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1), 1: state(1, 2, leader=2)})
    missing, elsewhere = TopicPartition("u", 0), TopicPartition("t", 1)

    errors = LocalMarkers(cluster.replicas).write(
        evolve(ABORT, partitions=(missing, elsewhere, AT))
    )

    assert errors == {
        missing: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        elsewhere: ErrorCode.NOT_LEADER_OR_FOLLOWER,
        AT: ErrorCode.NONE,
    }


async def test_marker_is_answered_when_all_replicas_in_sync_have_it(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1, 2), 1: state(1)})
    other = TopicPartition("t", 1)
    partition = cluster.replicas.partition("t", 0)

    pending = LocalMarkers(cluster.replicas).write(evolve(ABORT, partitions=(AT, other)))
    assert isinstance(pending, Delayed)
    answers = park(pending)
    partition.follower_fetched(PEER, 0)
    serve()
    assert answers == []
    partition.follower_fetched(PEER, 1)
    serve()

    assert answers == [{AT: ErrorCode.NONE, other: ErrorCode.NONE}]


async def test_marker_of_committed_offsets_goes_to_the_group_coordinator(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(**{CONSUMER_OFFSETS: {4: state(1)}})
    at = TopicPartition(CONSUMER_OFFSETS, 4)
    marker = evolve(ABORT, partitions=(at,))
    calls = []

    without = LocalMarkers(cluster.replicas).write(marker)
    markers = LocalMarkers(cluster.replicas, lambda *call: calls.append(call) or ErrorCode.NONE)
    with_groups = markers.write(marker)

    assert without == {at: ErrorCode.NOT_LEADER_OR_FOLLOWER}
    assert with_groups == {at: ErrorCode.NONE}
    assert calls == [(4, marker)]
    assert cluster.replicas.partition(CONSUMER_OFFSETS, 4).log.end_offset == 0
