from tests.apis.acls import allow
from trio_kafka.security.acls.entries import ANYONE, acl_of, record_of
from trio_kafka.security.operations import Operation


def test_an_entry_is_the_same_after_it_was_stored() -> None:
    acl = allow(Operation.READ, name="t", principal="User:a:b", host="10.0.0.1")

    record = record_of(acl, bytes(range(16)))

    assert record.id == bytes(range(16))
    assert acl_of(record) == acl


def test_the_principal_of_every_principal_is_the_one_of_kafka() -> None:
    assert ANYONE == "User:*"
