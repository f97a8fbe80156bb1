"""Decisions about access control entries: records, errors and limits."""

from collections.abc import Sequence

import pytest
from attrs import evolve

from tests.apis.acls import allow
from trio_kafka.controller import acls
from trio_kafka.controller.acls import MOST_RECORDS, create_acls, delete_acls, ids_by_acl
from trio_kafka.controller.decision import Decision
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.metadata.immutable_map import ImmutableMap
from trio_kafka.protocol.stored.metadata.security import AccessControlEntryRecord
from trio_kafka.scheduling.chunked_work import step
from trio_kafka.security.acls.entries import Acl, acl_of
from trio_kafka.security.acls.filters import AclFilter
from trio_kafka.security.operations import Operation

READ = allow(Operation.READ, name="a")
IN_RANGE = READ._replace(host="10.0.0.0/8")


def image(*, level: int = acls.RANGES_LEVEL) -> MetadataImage:
    return MetadataImage(features={"metadata.version": level})


class Numbers:
    """Ids that count up, each of them twice."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, size: int) -> bytes:
        self.calls += 1
        return (self.calls // 2).to_bytes(size, "big")


def records(decision: Decision[object]) -> list[object]:
    return [record for record in decision.records if record is not None]


def many(count: int) -> Sequence[Acl]:
    return [READ._replace(name=f"t{number}") for number in range(count)]


def existing(count: int) -> dict[Acl, bytes]:
    return {acl: number.to_bytes(16, "big") for number, acl in enumerate(many(count))}


@pytest.mark.parametrize(
    ("level", "code"),
    [(acls.RANGES_LEVEL, None), (acls.RANGES_LEVEL - 1, ErrorCode.UNSUPPORTED_VERSION)],
)
def test_a_range_of_addresses_needs_metadata_version_4_4_iv1(
    level: int, code: ErrorCode | None
) -> None:
    decision = create_acls(image(level=level), {}, [IN_RANGE, READ], Numbers())
    acl_records = records(decision)

    first, second = decision.result
    assert (first.code if first is not None else None) == code
    assert second is None
    assert len(acl_records) == 2 - (code is not None)


def test_an_id_is_chosen_that_no_other_entry_has() -> None:
    taken = AccessControlEntryRecord(id=bytes(16))
    old = evolve(image(), acls=ImmutableMap({taken.id: taken}))
    numbers = Numbers()

    (record,) = records(create_acls(old, {}, [READ], numbers))

    assert isinstance(record, AccessControlEntryRecord)
    assert record.id == (1).to_bytes(16, "big")
    assert acl_of(record) == READ


def test_more_new_entries_than_kafka_takes_violate_the_policy_as_a_whole() -> None:
    decision = create_acls(image(), {}, many(MOST_RECORDS + 1), lambda _: bytes(16))
    with pytest.raises(KafkaError) as caught:
        records(decision)

    assert caught.value.code is ErrorCode.POLICY_VIOLATION
    assert len(records(create_acls(image(), {}, many(MOST_RECORDS), lambda _: bytes(16)))) == (
        MOST_RECORDS
    )


def test_a_filter_beyond_the_limit_fails_and_the_first_entries_are_removed() -> None:
    decision = delete_acls(existing(MOST_RECORDS + 1), [AclFilter()])
    removed = records(decision)

    (error,) = decision.result
    assert isinstance(error, KafkaError)
    assert error.code is ErrorCode.INVALID_REQUEST
    assert len(removed) == MOST_RECORDS


def test_an_entry_that_two_filters_match_is_removed_once() -> None:
    decision = delete_acls(existing(3), [AclFilter(), AclFilter(host="*")])

    assert len(records(decision)) == 3
    assert decision.result == [list(many(3))] * 2


def test_results_of_filters_that_match_the_same_entries_have_a_bound() -> None:
    decision = delete_acls(existing(5000), [AclFilter()] * 25)

    assert len(records(decision)) == 5000
    sizes = [len(result) for result in decision.result if isinstance(result, list)]
    assert sizes == [5000] * 20
    assert all(isinstance(result, KafkaError) for result in decision.result[20:])


def test_a_filter_for_one_entry_does_not_search_the_others() -> None:
    class Searched(dict[Acl, bytes]):
        def __iter__(self):  # type: ignore[no-untyped-def]  # never called
            raise AssertionError

    decision = delete_acls(Searched(existing(3)), [AclFilter(*READ._replace(name="t1"))])

    assert len(records(decision)) == 1
    assert decision.result == [[READ._replace(name="t1")]]


def test_long_searches_and_lists_pause() -> None:
    entries = existing(1000)

    searched = list(delete_acls(entries, [AclFilter(host="none")]).records)
    created = list(create_acls(image(), entries, many(1000), Numbers()).records)

    assert searched == [None] * 10
    assert created == [None] * 10


def test_ids_are_listed_by_entry_in_steps() -> None:
    acl_records = records(create_acls(image(), {}, many(250), Numbers()))
    steps = ids_by_acl(acl_records)  # type: ignore[arg-type]  # they are of this class

    pauses = 0
    while (end := step(steps)) is None:
        pauses += 1

    assert pauses == 2
    assert end.value.keys() == set(many(250))
