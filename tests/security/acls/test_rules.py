"""Rules of principals: implied operations, hosts, and their removal."""

import pytest

from tests.apis.acls import allow, deny
from trio_kafka.security.acls.hosts import parse_address
from trio_kafka.security.acls.rules import PatternRules, PrincipalRules
from trio_kafka.security.operations import Operation, operations_in
from trio_kafka.security.resources import ResourceType

TOPIC = ResourceType.TOPIC


def rules(*acls: object) -> PrincipalRules:
    result = PrincipalRules()
    for acl in acls:
        result.add(acl)  # type: ignore[arg-type]  # they are entries
    return result


@pytest.mark.parametrize(
    ("operation", "implied"),
    [
        (Operation.READ, {Operation.DESCRIBE}),
        (Operation.WRITE, {Operation.DESCRIBE}),
        (Operation.DELETE, {Operation.DESCRIBE}),
        (Operation.ALTER, {Operation.DESCRIBE}),
        (Operation.ALTER_CONFIGS, {Operation.DESCRIBE_CONFIGS}),
        (Operation.CREATE, set()),
        (Operation.DESCRIBE_CONFIGS, set()),
        (Operation.CLUSTER_ACTION, set()),
    ],
)
def test_allowing_an_operation_implies_what_kafka_implies_and_denying_implies_nothing(
    operation: Operation, implied: set[Operation]
) -> None:
    allowed = rules(allow(operation)).masks
    denied = rules(deny(operation, TOPIC, "t")).masks

    assert set(operations_in(allowed.allow)) == {operation} | implied
    assert set(operations_in(allowed.stated)) == {operation}
    assert set(operations_in(denied.deny)) == {operation}
    assert denied.allow == allowed.deny == 0


def test_all_operations_are_every_operation() -> None:
    masks = rules(allow(Operation.ALL)).masks

    assert set(operations_in(masks.allow)) == set(Operation)


def test_an_operation_of_a_newer_release_allows_nothing_here() -> None:
    unknown = allow(Operation.READ)._replace(operation=100)
    of_someone = rules(unknown)

    assert not any(of_someone.masks.allow >> operation & 1 for operation in Operation)
    of_someone.remove(unknown)
    assert not of_someone


@pytest.mark.parametrize("host", ["10.0.0.7", "10.0.0.0/24", "::1/128", "0:0:0:0:0:0:0:1"])
def test_an_entry_for_a_host_holds_there_and_no_more_after_its_removal(host: str) -> None:
    acl = allow(Operation.READ, host=host)
    inside = parse_address("::1" if ":" in host else "10.0.0.7")
    outside = parse_address("10.1.0.7")
    of_someone = rules(allow(Operation.WRITE), acl, allow(Operation.ALTER, host="10.1.0.0/16"))
    read = 1 << Operation.READ

    assert of_someone.masks_at(inside)[0] & read
    assert not of_someone.masks_at(outside)[0] & read
    assert of_someone.masks_at(outside)[0] >> Operation.WRITE & 1
    of_someone.remove(acl)
    assert not of_someone.masks_at(inside)[0] & read


def test_two_texts_of_one_range_are_two_entries() -> None:
    first = allow(Operation.READ, host="10.0.0.1/8")
    second = allow(Operation.READ, host="10.0.0.2/8")
    of_someone = rules(first, second)

    of_someone.remove(first)
    assert of_someone.masks_at(parse_address("10.9.9.9"))[0] >> Operation.READ & 1
    of_someone.remove(second)
    assert of_someone.masks_at(parse_address("10.9.9.9")) == (0, 0, 0)
    assert not of_someone
    assert not of_someone.hosts


def test_an_entry_that_is_not_there_cannot_be_removed() -> None:
    pattern = PatternRules()
    pattern.add(allow(Operation.READ))
    for other in (allow(Operation.WRITE), deny(Operation.READ, TOPIC, "*")):
        with pytest.raises(KeyError):
            pattern.remove(other)

    pattern.remove(allow(Operation.READ))
    assert not pattern
