"""Offsets: who may commit them, what is told of them, and what becomes of them."""

import pytest

from trio_kafka.coordinators.groups.classic.group import ClassicGroup
from trio_kafka.coordinators.groups.commits import commit, delete, fetch
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.offset_values import (
    Commit,
    FetchedOffset,
    FetchedTopic,
    FetchOffsets,
    PartitionOffset,
    TopicOffsets,
    TopicPartitions,
)
from trio_kafka.coordinators.shards.effects import CoordinatorRecord, Effects, Ticket
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import ZERO_TOPIC_ID
from trio_kafka.protocol.stored.groups.classic import OffsetCommitKey, OffsetCommitValue
from trio_kafka.scheduling.chunked_work import whole
from trio_kafka.testing.machines import MachineDriver

ID = bytes(15) + b"\x07"
OTHER_ID = bytes(15) + b"\x08"


def simple(group_id: str) -> ClassicGroup:
    return ClassicGroup(group_id=group_id, since_ms=None)


def driver() -> MachineDriver[Groups]:
    return MachineDriver(lambda: Groups(simple=simple))


def topic_offsets(
    offset: int,
    partition: int = 0,
    *,
    topic: str = "t",
    metadata: str | None = "m",
    topic_id: bytes = ZERO_TOPIC_ID,
) -> list[TopicOffsets]:
    return [TopicOffsets(topic, topic_id, [PartitionOffset(partition, offset, 3, metadata)])]


def store(groups: MachineDriver[Groups], topics: list[TopicOffsets], group_id: str = "g") -> None:
    request = Commit(group_id=group_id, topics=topics)
    codes = groups.ask(lambda machine, ticket, now: commit(request, machine, ticket, now))
    assert not any(codes)


def ask(
    groups: MachineDriver[Groups],
    *topics: TopicPartitions,
    group_id: str = "g",
    require_stable: bool = False,
    everything: bool = False,
) -> list[FetchedTopic]:
    fetch_offsets = FetchOffsets(
        group_id=group_id,
        topics=None if everything else topics,
        require_stable=require_stable,
    )
    answer: list[FetchedTopic] = groups.ask(
        lambda machine, ticket, now: fetch(fetch_offsets, machine, ticket, now)
    )
    return answer


T0 = TopicPartitions("t", ZERO_TOPIC_ID, [0])


def test_committed_offset_is_fetched() -> None:
    groups = driver()

    store(groups, topic_offsets(7, topic_id=ID))

    assert ask(groups, T0) == [FetchedTopic("t", ZERO_TOPIC_ID, [FetchedOffset(0, 7, 3, "m")])]
    assert groups.records == [
        CoordinatorRecord(
            OffsetCommitKey("g", "t", 0), OffsetCommitValue(7, 3, "m", 1_000_000, -1, ID), 4
        )
    ]


def test_commit_with_a_retention_is_stored_in_record_version_1() -> None:
    groups = driver()
    request = Commit(group_id="g", version=2, retention_ms=500, topics=topic_offsets(7))

    groups.ask(lambda machine, ticket, now: commit(request, machine, ticket, now))

    [record] = groups.records
    assert (record.version, record.value.expire_timestamp) == (1, 1_000_500)


def test_too_large_retention_is_stored_as_the_largest_timestamp() -> None:
    groups = driver()
    request = Commit(group_id="g", version=2, retention_ms=(1 << 63) - 1, topics=topic_offsets(7))

    groups.ask(lambda machine, ticket, now: commit(request, machine, ticket, now))

    assert groups.records[0].value.expire_timestamp == (1 << 63) - 1


def test_too_large_metadata_are_refused_for_their_partition_only() -> None:
    groups = driver()
    topics = [
        TopicOffsets(
            "t",
            ZERO_TOPIC_ID,
            [
                PartitionOffset(0, 1, -1, "x" * 4097),
                PartitionOffset(1, 1, -1, "x" * 4096),
                PartitionOffset(2, 1, -1, "\U0001f600" * 2049),
                PartitionOffset(3, 1, -1, "\U0001f600" * 2048),
                PartitionOffset(4, 1, -1, None),
            ],
        )
    ]
    request = Commit(group_id="g", topics=topics)

    codes = groups.ask(lambda machine, ticket, now: commit(request, machine, ticket, now))

    large = ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert codes == [large, 0, large, 0, 0]
    assert [record.key.partition for record in groups.records] == [1, 3, 4]
    assert groups.records[-1].value.metadata == ""


@pytest.mark.parametrize(
    ("version", "code"), [(8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)]
)
def test_commit_of_a_member_of_an_unknown_group_is_refused(version: int, code: ErrorCode) -> None:
    for epoch in (0, 1):
        request = Commit(
            group_id="g", member_id="a", epoch=epoch, version=version, topics=topic_offsets(7)
        )

        with pytest.raises(KafkaError) as error:
            driver().ask(
                lambda machine, ticket, now, request=request: commit(request, machine, ticket, now)
            )

        assert error.value.code is code


def test_results_of_a_commit_are_in_the_order_of_the_request() -> None:
    groups = driver()
    topics = [
        *topic_offsets(1, topic="t"),
        *topic_offsets(2, topic="u", metadata="x" * 5000),
        *topic_offsets(3, topic="v"),
    ]
    request = Commit(group_id="g", topics=topics)

    codes = groups.ask(lambda machine, ticket, now: commit(request, machine, ticket, now))

    assert codes == [0, ErrorCode.OFFSET_METADATA_TOO_LARGE, 0]
    assert [record.key.topic for record in groups.records] == ["t", "v"]


def test_offset_of_a_topic_with_the_same_name_but_another_id_is_not_returned() -> None:
    groups = driver()
    store(groups, topic_offsets(7, topic_id=ID))

    [topic] = ask(groups, TopicPartitions("t", OTHER_ID, [0]))

    assert topic.partitions == [FetchedOffset(0)]
    assert ask(groups, TopicPartitions("t", ID, [0]))[0].partitions[0].offset == 7


def test_unknown_group_has_no_offsets() -> None:
    assert ask(driver(), T0) == [FetchedTopic("t", ZERO_TOPIC_ID, [FetchedOffset(0)])]
    assert ask(driver(), everything=True) == []


def test_all_offsets_of_a_group_are_fetched() -> None:
    groups = driver()
    store(groups, topic_offsets(1, 0))
    store(groups, topic_offsets(2, 1))
    store(groups, topic_offsets(3, 0, topic="u"))
    store(groups, topic_offsets(4, 0), group_id="other")

    fetched_offsets = {
        (topic.topic, partition.partition): partition.offset
        for topic in ask(groups, everything=True)
        for partition in topic.partitions
    }

    assert fetched_offsets == {("t", 0): 1, ("t", 1): 2, ("u", 0): 3}


def test_offsets_survive_a_crash() -> None:
    groups = driver()
    store(groups, topic_offsets(1))
    store(groups, topic_offsets(2))

    assert ask(groups.reload(), T0)[0].partitions[0].offset == 2


def test_deleted_offsets_stay_deleted_after_a_crash() -> None:
    groups = driver()
    store(groups, topic_offsets(1, 0))
    store(groups, topic_offsets(1, 1))

    codes = groups.ask(
        lambda machine, ticket, now: delete(
            "g", [TopicPartitions("t", ZERO_TOPIC_ID, [0, 5])], machine, ticket, now
        )
    )

    assert codes == [0, 0]
    assert len(groups.records) == 3
    for machine in (groups, groups.reload()):
        assert [partition.offset for partition in ask(machine, T0)[0].partitions] == [-1]
        assert machine.machine.offsets.count == 1


def test_deleting_offsets_of_an_unknown_group_raises_group_id_not_found() -> None:
    with pytest.raises(KafkaError, match="GROUP_ID_NOT_FOUND: Group g not found"):
        driver().ask(lambda machine, ticket, now: delete("g", [T0], machine, ticket, now))


def test_many_partitions_are_committed_and_fetched_in_steps() -> None:
    groups = driver()
    parts = [PartitionOffset(number, number, -1, "") for number in range(1000)]
    request = Commit(group_id="g", topics=[TopicOffsets("t", ZERO_TOPIC_ID, parts)])
    pauses = []

    def counted(make):
        def event(machine: Groups, ticket: Ticket, now: int) -> Effects:
            steps = make(machine, ticket, now)
            assert not isinstance(steps, Effects)
            while True:
                try:
                    next(steps)
                except StopIteration as end:
                    return end.value
                pauses.append(make)

        return event

    codes = groups.ask(counted(lambda machine, ticket, now: commit(request, machine, ticket, now)))
    assert (codes, len(pauses)) == ([0] * 1000, 5)

    expected = FetchOffsets(group_id="g", topics=None)
    (topic,) = groups.ask(
        counted(lambda machine, ticket, now: fetch(expected, machine, ticket, now))
    )
    assert [partition.offset for partition in topic.partitions] == list(range(1000))
    assert len(pauses) == 10


# Transactions


def transactional(groups: Groups, producer_id: int, offset: int) -> None:
    record = CoordinatorRecord(OffsetCommitKey("g", "t", 0), OffsetCommitValue(offset, metadata=""))
    groups.replay_transactional(producer_id, record)


def replay(groups: Groups, offset: int | None) -> None:
    value = None if offset is None else OffsetCommitValue(offset, metadata="")
    groups.replay(CoordinatorRecord(OffsetCommitKey("g", "t", 0), value))


def offset_of(groups: Groups) -> int | None:
    result = groups.offsets.get("g", "t", 0)
    return None if result is None else result.offset


def test_transactional_offset_is_visible_after_the_transaction_commits() -> None:
    groups = Groups(simple=simple)
    transactional(groups, 1, 7)
    assert offset_of(groups) is None
    whole(groups.end_transaction(1, committed=True))
    assert offset_of(groups) == 7
    transactional(groups, 1, 9)
    whole(groups.end_transaction(1, committed=False))
    assert offset_of(groups) == 7
    whole(groups.end_transaction(5, committed=True))
    assert groups.offsets.pending.open == 0


def test_later_regular_commit_wins_over_an_earlier_transactional_commit() -> None:
    groups = Groups(simple=simple)
    transactional(groups, 1, 7)
    replay(groups, 3)
    assert groups.offsets.pending.is_open("g", "t", 0)
    whole(groups.end_transaction(1, committed=True))
    assert offset_of(groups) == 3


def test_later_transactional_offset_wins_whatever_the_order_of_the_markers() -> None:
    groups = Groups(simple=simple)
    transactional(groups, 1, 7)
    transactional(groups, 2, 8)
    whole(groups.end_transaction(2, committed=True))
    whole(groups.end_transaction(1, committed=True))
    assert offset_of(groups) == 8


def test_commit_marker_does_not_restore_a_deleted_offset() -> None:
    groups = Groups(simple=simple)
    replay(groups, 1)
    transactional(groups, 1, 7)
    replay(groups, None)
    whole(groups.end_transaction(1, committed=True))
    assert offset_of(groups) is None
    assert groups.offsets.pending.open == 0


def test_fetch_of_stable_offsets_is_refused_during_an_open_transaction() -> None:
    groups = driver()
    store(groups, topic_offsets(7))
    transactional(groups.machine, 1, 9)

    [topic] = ask(groups, T0, require_stable=True)
    assert topic.partitions == [FetchedOffset(0, error=ErrorCode.UNSTABLE_OFFSET_COMMIT)]
    assert ask(groups, T0)[0].partitions[0].offset == 7
    assert ask(groups, T0, everything=True, require_stable=True)[0].partitions[0].error
    whole(groups.machine.end_transaction(1, committed=False))
    assert ask(groups, T0, require_stable=True)[0].partitions[0].offset == 7


def test_tombstones_of_a_group_include_pending_transactional_offsets() -> None:
    groups = driver()
    store(groups, topic_offsets(7, 1))
    transactional(groups.machine, 1, 9)

    keys = [record.key for record in groups.machine.offsets.tombstones("g")]

    assert sorted(key.partition for key in keys) == [0, 1]
