from collections.abc import Hashable

from attrs import define, field

from tests.replication.kit import want
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.records.file_range import FileRange
from trio_kafka.replication.leader.read import EpochEnd, PartitionRead
from trio_kafka.replication.leader.sessions import Session, next_epoch

ONE, TWO, THREE = ("t", 0), ("t", 1), ("t", 2)


@define
class Watches:
    """Who watches what."""

    attached: list[Hashable] = field(factory=list)

    def attach(self, key: Hashable, session: Session) -> None:
        self.attached.append(key)

    def detach(self, key: Hashable, session: Session) -> None:
        self.attached.remove(key)


def new_session(*keys) -> tuple[Session, Watches]:
    watches = Watches()
    session = Session(id=5, attach=watches.attach, detach=watches.detach)
    session.update({key: want(0) for key in keys}, [])
    for key in keys:
        session.watch(session.partitions[key], f"watched {key}")
    return session, watches


def nothing(**fields) -> PartitionRead:
    return PartitionRead(**{"high_watermark": 4, "start_offset": 0, **fields})


def some(size: int = 10, **fields) -> PartitionRead:
    return nothing(range=FileRange(None, 0, size), more=True, **fields)


def told(session: Session, reads: dict, *, full: bool = False) -> list:
    pairs = [(session.partitions[key], read) for key, read in reads.items()]
    return [partition.key for partition, _ in session.answer(pairs, full=full)]


def dirty(session: Session) -> list:
    return [partition.key for partition in session.dirty]


def test_session_epoch_after_the_largest_is_1() -> None:
    assert next_epoch(0) == 1
    assert next_epoch(1) == 2
    assert next_epoch((1 << 31) - 1) == 1
    assert next_epoch(-1) == -1


def test_new_session_watches_and_reads_all_its_partitions() -> None:
    session, watches = new_session(ONE, TWO)

    assert dirty(session) == [ONE, TWO]
    assert watches.attached == [f"watched {ONE}", f"watched {TWO}"]


def test_full_response_names_all_partitions_and_the_next_one_only_changed_ones() -> None:
    session, _ = new_session(ONE, TWO)

    assert told(session, {ONE: nothing(), TWO: nothing()}, full=True) == [ONE, TWO]
    assert dirty(session) == []
    assert told(session, {ONE: nothing(), TWO: nothing()}) == []


def test_partition_with_new_bytes_offsets_epochs_or_errors_is_in_the_response() -> None:
    session, _ = new_session(ONE)
    told(session, {ONE: nothing()}, full=True)

    for read in (
        some(),
        nothing(high_watermark=5),
        nothing(high_watermark=5, start_offset=1),
        nothing(high_watermark=5, start_offset=1, diverging=EpochEnd(1, 2)),
        PartitionRead(error=KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)),
    ):
        session.update({ONE: want(0)}, [])
        assert told(session, {ONE: read}) == [ONE]


def test_partition_is_in_the_response_again_when_its_error_has_ended() -> None:
    session, _ = new_session(ONE)
    told(session, {ONE: nothing()}, full=True)
    session.update({ONE: want(0)}, [])
    error = nothing(error=KafkaError(ErrorCode.KAFKA_STORAGE_ERROR))
    told(session, {ONE: error})

    assert told(session, {ONE: nothing()}) == [ONE]


def test_mark_makes_only_its_partition_dirty_and_fresh() -> None:
    session, _ = new_session(ONE, TWO)
    told(session, {ONE: nothing(), TWO: nothing()}, full=True)

    session.marked(f"watched {TWO}")
    session.marked("of nobody")

    assert dirty(session) == [TWO]
    assert [partition.key for partition in session.fresh] == [TWO]


def test_partitions_with_bytes_are_last_in_the_next_response() -> None:
    session, _ = new_session(ONE, TWO, THREE)

    told(session, {ONE: some(), TWO: nothing(more=True), THREE: nothing()}, full=True)

    assert dirty(session) == [TWO, ONE]
    assert list(session.partitions) == [TWO, THREE, ONE]


def test_partition_with_an_error_stays_dirty() -> None:
    session, _ = new_session(ONE)

    told(session, {ONE: PartitionRead(error=KafkaError(ErrorCode.UNKNOWN_TOPIC_ID))})

    assert dirty(session) == [ONE]


def test_fetch_changes_adds_and_drops_partitions_of_its_session() -> None:
    session, watches = new_session(ONE, TWO)
    told(session, {ONE: nothing(), TWO: nothing()}, full=True)

    session.update({ONE: want(7), THREE: want(0)}, [TWO])

    assert list(session.partitions) == [ONE, THREE]
    assert session.partitions[ONE].request.offset == 7
    assert dirty(session) == [ONE, THREE]
    assert watches.attached == [f"watched {ONE}"]


def test_partition_dropped_during_its_read_is_forgotten() -> None:
    session, _ = new_session(ONE, TWO)
    gone = session.partitions[ONE]
    session.update({}, [ONE])

    session.answer([(gone, some())], full=False)

    assert list(session.partitions) == [TWO]
    assert dirty(session) == [TWO]


def test_recreated_partition_is_watched_instead_of_the_deleted_partition() -> None:
    session, watches = new_session(ONE)

    session.watch(session.partitions[ONE], "the new one")
    told(session, {ONE: nothing()})
    session.marked("the new one")

    assert watches.attached == ["the new one"]
    assert dirty(session) == [ONE]


def test_a_closed_session_watches_nothing() -> None:
    session, watches = new_session(ONE, TWO)

    session.close()

    assert watches.attached == []
    assert not session.partitions
    assert not session.dirty
