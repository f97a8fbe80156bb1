import re

import pytest

from trio_kafka.security.sasl.scram import (
    BY_NAME,
    BY_NUMBER,
    SHA_256,
    SHA_512,
    ScramMechanism,
    base_36,
    credential_of,
    fits,
    from_base64,
    printable_salt,
    salted_password,
)


def test_the_mechanisms_have_the_numbers_and_bounds_of_kafka() -> None:
    assert {m.name: (m.number, m.fewest, m.most) for m in BY_NAME.values()} == {
        "SCRAM-SHA-256": (1, 4096, 16384),
        "SCRAM-SHA-512": (2, 4096, 16384),
    }
    assert list(BY_NUMBER) == [1, 2]


@pytest.mark.parametrize("byte", [0, 1, 0xFF])
def test_a_salt_is_a_number_of_130_bits_in_base_36(byte: int) -> None:
    salt = printable_salt(lambda count: bytes([byte]) * count)

    assert re.fullmatch(rb"[0-9a-z]{1,26}", salt)
    assert int(salt, 36) < 1 << 130


def test_base_36_is_the_notation_of_python() -> None:
    for number in (0, 35, 36, (1 << 130) - 1):
        assert int(base_36(number), 36) == number
    assert base_36(1 << 130) == b"0"


def test_text_that_is_no_base64_is_a_value_error() -> None:
    with pytest.raises(ValueError, match=r"."):
        from_base64("!")


@pytest.mark.parametrize("mechanism", [SHA_256, SHA_512])
def test_password_fits_its_own_credential_only(mechanism: ScramMechanism) -> None:
    salted = salted_password(mechanism, "secret", salt=b"salt", iterations=4096)
    credential = credential_of(mechanism, salted, salt=b"salt", iterations=4096)

    assert fits(mechanism, "secret", credential)
    assert not fits(mechanism, "Secret", credential)
    assert not fits(mechanism, "", credential)
