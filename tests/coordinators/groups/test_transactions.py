"""Offsets of transactions: which members may commit them, and what their end makes of them."""

import pytest
from attrs import evolve

from tests.coordinators.groups.test_commits import T0, ask, driver, store, topic_offsets
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.offset_values import Commit, TopicOffsets
from trio_kafka.coordinators.groups.offsets import EXPIRY
from trio_kafka.coordinators.groups.transactions import (
    TransactionalCommit,
    commit_in_transaction,
    end_transaction,
)
from trio_kafka.coordinators.shards.effects import Effects
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.verification import OPEN
from trio_kafka.records.control import Marker
from trio_kafka.replication.leader.markers import TransactionMarker
from trio_kafka.scheduling.chunked_work import whole
from trio_kafka.testing.machines import MachineDriver

MARKER = TransactionMarker(
    producer_id=7,
    producer_epoch=2,
    coordinator_epoch=5,
    is_commit=True,
    transaction_version=0,
    partitions=(),
)


def request(topics: list[TopicOffsets], *, producer_id: int = 7, **fields) -> TransactionalCommit:
    return TransactionalCommit(
        commit=Commit("g", topics, **fields), producer_id=producer_id, producer_epoch=2, guard=OPEN
    )


def store_pending(groups: MachineDriver[Groups], topics: list[TopicOffsets], **fields) -> list[int]:
    commit_request = request(topics, **fields)
    codes: list[int] = groups.ask(
        lambda machine, ticket, now: commit_in_transaction(commit_request, machine, ticket, now)
    )
    return codes


def end(groups: MachineDriver[Groups], *, commit: bool = True, producer_id: int = 7) -> None:
    marker = evolve(MARKER, is_commit=commit, producer_id=producer_id)
    code = groups.ask(lambda machine, ticket, now: end_transaction(marker, machine, ticket, now))
    assert code is ErrorCode.NONE


def offset(groups: MachineDriver[Groups], *, stable: bool = False) -> tuple[int, ErrorCode]:
    ((row,),) = (topic.partitions for topic in ask(groups, T0, require_stable=stable))
    return row.offset, row.error


def effects_of(groups: MachineDriver[Groups], topics: list[TopicOffsets], **fields) -> Effects:
    effects = commit_in_transaction(request(topics, **fields), groups.machine, "ticket", 0)
    return effects if isinstance(effects, Effects) else whole(effects)


def test_pending_offset_counts_when_its_transaction_is_committed() -> None:
    groups = driver()
    store(groups, topic_offsets(3))

    assert store_pending(groups, topic_offsets(8)) == [0]

    assert offset(groups) == (3, ErrorCode.NONE)
    assert offset(groups, stable=True) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    end(groups)
    assert offset(groups, stable=True) == (8, ErrorCode.NONE)


def test_pending_offset_is_dropped_when_its_transaction_is_aborted() -> None:
    groups = driver()
    store(groups, topic_offsets(3))
    store_pending(groups, topic_offsets(8))

    end(groups, producer_id=9)
    assert offset(groups, stable=True) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    end(groups, commit=False)

    assert offset(groups, stable=True) == (3, ErrorCode.NONE)


def test_records_are_a_batch_in_the_name_of_the_producer_and_its_marker_is_another() -> None:
    groups = driver()

    offsets = effects_of(groups, topic_offsets(8))
    marker = end_transaction(MARKER, groups.machine, "ticket", 0)

    assert offsets.origin is not None
    assert (offsets.origin.producer_id, offsets.origin.producer_epoch) == (7, 2)
    assert offsets.origin.marker is None
    assert len(offsets.records) == 1
    assert marker.origin is not None
    assert marker.origin.marker == Marker(committed=True, coordinator_epoch=5)
    assert marker.records == []


def test_offsets_that_are_all_invalid_are_no_batch() -> None:
    effects = effects_of(driver(), topic_offsets(8, metadata="x" * 5000))

    assert (effects.origin, effects.records) == (None, [])
    assert effects.answers == [("ticket", [ErrorCode.OFFSET_METADATA_TOO_LARGE])]


def test_commit_to_an_unknown_group_makes_it_and_schedules_its_expiry() -> None:
    groups = driver()

    first = effects_of(groups, topic_offsets(8))
    second = effects_of(groups, topic_offsets(8))

    assert [timer.key for timer in first.timers] == [(EXPIRY,)]
    assert second.timers == []
    assert "g" in groups.machine.by_id


def test_commit_of_a_member_of_an_unknown_group_has_an_illegal_generation() -> None:
    groups = driver()

    with pytest.raises(KafkaError) as caught:
        store_pending(groups, topic_offsets(8), member_id="m", epoch=3)

    assert caught.value.code is ErrorCode.ILLEGAL_GENERATION
    assert "g" not in groups.machine.by_id


def test_pending_offset_and_its_end_survive_a_reload() -> None:
    groups = driver()
    store_pending(groups, topic_offsets(8))

    pending = groups.reload()
    assert offset(pending, stable=True) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    end(pending)

    assert offset(pending.reload(), stable=True) == (8, ErrorCode.NONE)


def test_refused_marker_leaves_the_offset_pending() -> None:
    groups = driver()
    store_pending(groups, topic_offsets(8))
    groups.refuse = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    with pytest.raises(KafkaError):
        end(groups)

    assert offset(groups, stable=True) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
