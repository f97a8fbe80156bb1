"""Readers by principal: one each, a bounded number, none with lost permissions."""

from typing import Any

from attrs import define

from trio_kafka.security.principal import Principal
from trio_kafka_admin.readers import Readers


@define(eq=False)
class Reader:
    """The part of a `BrokerReader` that readers need."""

    principal: Principal
    is_current: bool = True


def readers() -> Readers:
    make: Any = Reader
    return Readers(make)


def test_principal_keeps_its_reader_until_it_lacks_a_permission() -> None:
    kept = readers()
    ann, bob = Principal("User", "ann"), Principal("User", "bob")

    reader: Any = kept.of(ann)
    assert kept.of(ann) is reader
    assert kept.of(bob) is not reader
    reader.is_current = False

    assert kept.of(ann) is not reader
    assert len(kept) == 2


def test_reader_unused_longest_goes_for_another() -> None:
    kept = readers()
    principals = [Principal("User", str(number)) for number in range(40)]
    first = kept.of(principals[0])

    for principal in principals:
        kept.of(principal)
        assert kept.of(principals[0]) is first

    assert len(kept) == 32
