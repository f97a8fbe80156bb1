"""Which SCRAM credentials can be stored and removed, and what is written of them."""

import pytest
from attrs import evolve

from tests.controller.kit import image_of
from trio_kafka.controller.scram import SCRAM_LEVEL, ScramChange, ScramUpsertion, alter_scram
from trio_kafka.errors import ErrorCode
from trio_kafka.metadata.features import METADATA_VERSION
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.protocol.stored.metadata.security import (
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from trio_kafka.security.sasl.scram import SHA_256, SHA_512, credential_of

PUT = ScramUpsertion(salt=b"salt", salted_password=b"salted", iterations=4096)


def image(*keys: tuple[str, int], level: int = SCRAM_LEVEL) -> MetadataImage:
    base = image_of()
    records = {key: UserScramCredentialRecord(name=key[0], mechanism=key[1]) for key in keys}
    return evolve(base, scram=base.scram.updated(records), features={METADATA_VERSION: level})


def outcome(
    before: MetadataImage, *changes: ScramChange
) -> tuple[dict[str, ErrorCode | None], list[object]]:
    """Errors by user, and the records."""
    decision = alter_scram(before, changes)
    records = [record for record in decision.records if record is not None]
    errors = {user: error and error.code for user, error in decision.result.items()}
    return errors, records


def test_keys_are_stored_and_the_salted_password_is_not() -> None:
    errors, records = outcome(image(), ScramChange("ann", 1, PUT), ScramChange("bob", 2, PUT))

    expected = []
    for user, mechanism in (("ann", SHA_256), ("bob", SHA_512)):
        credential = credential_of(mechanism, b"salted", salt=b"salt", iterations=4096)
        keys = credential.stored_key, credential.server_key
        expected.append(UserScramCredentialRecord(user, mechanism.number, b"salt", *keys, 4096))
    assert errors == {"ann": None, "bob": None}
    assert records == expected
    assert "salted" not in repr(records)


def test_a_known_credential_is_removed_and_an_unknown_one_is_an_error() -> None:
    errors, records = outcome(
        image(("ann", 1), ("bob", 1)), ScramChange("ann", 1), ScramChange("bob", 2)
    )

    assert errors == {"ann": None, "bob": ErrorCode.RESOURCE_NOT_FOUND}
    assert records == [RemoveUserScramCredentialRecord(name="ann", mechanism=1)]


def test_invalid_changes_have_the_error_of_kafka() -> None:
    few, many = evolve(PUT, iterations=4095), evolve(PUT, iterations=16385)
    unacceptable = ErrorCode.UNACCEPTABLE_CREDENTIAL

    assert outcome(image(), ScramChange("", 1, PUT)) == ({"": unacceptable}, [])
    assert outcome(image(), ScramChange("a", 1, few)) == ({"a": unacceptable}, [])
    assert outcome(image(), ScramChange("a", 2, many)) == ({"a": unacceptable}, [])
    for number in (0, 3, -1):
        error = {"a": ErrorCode.UNSUPPORTED_SASL_MECHANISM}
        assert outcome(image(), ScramChange("a", number, PUT)) == (error, [])


TWICE = [
    (ScramChange("ann", 1, PUT), ScramChange("ann", 1, PUT)),
    (ScramChange("ann", 1, PUT), ScramChange("ann", 2, PUT)),
    (ScramChange("ann", 1), ScramChange("ann", 1, PUT)),
    (ScramChange("ann", 1), ScramChange("ann", 2)),
    (ScramChange("ann", 1, PUT), ScramChange("ann", 2, PUT), ScramChange("ann", 1, PUT)),
    (ScramChange("ann", 1, PUT), ScramChange("ann", 2, evolve(PUT, iterations=1))),
    (ScramChange("ann", 1, PUT), ScramChange("ann", 3, PUT)),
    (ScramChange("ann", 1, PUT), ScramChange("ann", 2)),
]
"""Changes of a user who has mechanism 1, the first of which is possible."""


@pytest.mark.parametrize("changes", TWICE)
def test_a_user_cannot_be_changed_twice_in_one_request(changes: tuple[ScramChange, ...]) -> None:
    errors, records = outcome(image(("ann", 1)), *changes, ScramChange("bob", 1, PUT))

    assert errors == {"ann": ErrorCode.DUPLICATE_RESOURCE, "bob": None}
    assert [getattr(record, "name", None) for record in records] == ["bob"]


def test_the_first_error_of_a_user_stays_whatever_follows() -> None:
    errors, records = outcome(
        image(), ScramChange("ann", 2), ScramChange("ann", 1, PUT), ScramChange("ann", 1, PUT)
    )

    assert (errors, records) == ({"ann": ErrorCode.RESOURCE_NOT_FOUND}, [])


def test_no_credential_is_changed_while_the_metadata_version_is_too_old() -> None:
    old = image(("bob", 1), level=10)  # 3.5-IV1
    changes = ScramChange("ann", 1, PUT), ScramChange("bob", 1), ScramChange("ann", 2, PUT)

    errors, records = outcome(old, *changes)

    assert (errors, records) == (dict.fromkeys(["ann", "bob"], ErrorCode.UNSUPPORTED_VERSION), [])
    assert outcome(image(("bob", 1)), *changes[:2])[0] == {"ann": None, "bob": None}


def test_the_text_of_a_change_hides_its_secrets() -> None:
    assert "salt" not in repr(ScramChange("ann", 1, PUT)).replace("salted_password", "")
