from collections.abc import Hashable

from attrs import define, field

from tests.replication.kit import want
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.records.file_range import FileRange
from trio_kafka.replication.leader.read import EpochEnd, PartitionRead
from trio_kafka.replication.leader.sessions import Session, next_epoch

FIRST, SECOND, THIRD = ("t", 0), ("t", 1), ("t", 2)


@define
class Watches:
    """Keys of the attached partitions."""

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


def answered_keys(session: Session, reads: dict, *, full: bool = False) -> list:
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
    session, watches = new_session(FIRST, SECOND)

    assert dirty(session) == [FIRST, SECOND]
    assert watches.attached == [f"watched {FIRST}", f"watched {SECOND}"]


def test_full_response_names_all_partitions_and_the_next_one_only_changed_ones() -> None:
    session, _ = new_session(FIRST, SECOND)

    assert answered_keys(session, {FIRST: nothing(), SECOND: nothing()}, full=True) == [
        FIRST,
        SECOND,
    ]
    assert dirty(session) == []
    assert answered_keys(session, {FIRST: nothing(), SECOND: nothing()}) == []


def test_partition_with_new_bytes_offsets_epochs_or_errors_is_in_the_response() -> None:
    session, _ = new_session(FIRST)
    answered_keys(session, {FIRST: nothing()}, full=True)

    for read in (
        some(),
        nothing(high_watermark=5),
        nothing(high_watermark=5, start_offset=1),
        nothing(high_watermark=5, start_offset=1, diverging=EpochEnd(1, 2)),
        PartitionRead(error=KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)),
    ):
        session.update({FIRST: want(0)}, [])
        assert answered_keys(session, {FIRST: read}) == [FIRST]


def test_partition_is_in_the_response_again_when_its_error_has_ended() -> None:
    session, _ = new_session(FIRST)
    answered_keys(session, {FIRST: nothing()}, full=True)
    session.update({FIRST: want(0)}, [])
    error = nothing(error=KafkaError(ErrorCode.KAFKA_STORAGE_ERROR))
    answered_keys(session, {FIRST: error})

    assert answered_keys(session, {FIRST: nothing()}) == [FIRST]


def test_mark_makes_only_its_partition_dirty_and_fresh() -> None:
    session, _ = new_session(FIRST, SECOND)
    answered_keys(session, {FIRST: nothing(), SECOND: nothing()}, full=True)

    session.marked(f"watched {SECOND}")
    session.marked("of nobody")

    assert dirty(session) == [SECOND]
    assert [partition.key for partition in session.fresh] == [SECOND]


def test_partitions_with_bytes_are_last_in_the_next_response() -> None:
    session, _ = new_session(FIRST, SECOND, THIRD)

    answered_keys(session, {FIRST: some(), SECOND: nothing(more=True), THIRD: nothing()}, full=True)

    assert dirty(session) == [SECOND, FIRST]
    assert list(session.partitions) == [SECOND, THIRD, FIRST]


def test_partition_with_an_error_stays_dirty() -> None:
    session, _ = new_session(FIRST)

    answered_keys(session, {FIRST: PartitionRead(error=KafkaError(ErrorCode.UNKNOWN_TOPIC_ID))})

    assert dirty(session) == [FIRST]


def test_fetch_changes_adds_and_drops_partitions_of_its_session() -> None:
    session, watches = new_session(FIRST, SECOND)
    answered_keys(session, {FIRST: nothing(), SECOND: nothing()}, full=True)

    session.update({FIRST: want(7), THIRD: want(0)}, [SECOND])

    assert list(session.partitions) == [FIRST, THIRD]
    assert session.partitions[FIRST].request.offset == 7
    assert dirty(session) == [FIRST, THIRD]
    assert watches.attached == [f"watched {FIRST}"]


def test_partition_dropped_during_its_read_is_forgotten() -> None:
    session, _ = new_session(FIRST, SECOND)
    gone = session.partitions[FIRST]
    session.update({}, [FIRST])

    session.answer([(gone, some())], full=False)

    assert list(session.partitions) == [SECOND]
    assert dirty(session) == [SECOND]


def test_recreated_partition_is_watched_instead_of_the_deleted_partition() -> None:
    session, watches = new_session(FIRST)

    session.watch(session.partitions[FIRST], "the new one")
    answered_keys(session, {FIRST: nothing()})
    session.marked("the new one")

    assert watches.attached == ["the new one"]
    assert dirty(session) == [FIRST]


def test_a_closed_session_watches_nothing() -> None:
    session, watches = new_session(FIRST, SECOND)

    session.close()

    assert session.closed
    assert watches.attached == []
    assert not session.partitions
    assert not session.dirty


def test_partition_of_a_closed_session_or_a_forgotten_one_is_not_watched_again() -> None:
    session, watches = new_session(FIRST, SECOND)
    forgotten, other = session.partitions.values()
    session.update({FIRST: want(0)}, [FIRST])
    session.update({FIRST: want(0)}, [])

    session.watch(forgotten, "a")
    assert watches.attached == [f"watched {SECOND}"]
    session.watch(session.partitions[FIRST], "a")
    assert watches.attached == [f"watched {SECOND}", "a"]
    session.close()
    session.watch(other, "b")

    assert watches.attached == []
    session.marked("b")
    assert not session.dirty
