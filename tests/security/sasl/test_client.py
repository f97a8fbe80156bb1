import os

import pytest

from trio_kafka.config.jaas import JaasError, parse_jaas
from trio_kafka.security.sasl.client import begin_exchange, credentials_of

PACKAGE = "org.apache.kafka.common.security"


def test_a_login_line_becomes_credentials_whose_text_hides_the_password() -> None:
    line = parse_jaas(f'{PACKAGE}.plain.PlainLoginModule required username=ann password="s3cret";')

    credentials = credentials_of("PLAIN", line)

    assert next(begin_exchange(credentials, os.urandom)) == b"\0ann\0s3cret"
    assert "s3cret" not in repr(credentials)
    assert "s3cret" not in repr(line)


def test_a_delegation_token_is_marked_in_the_first_message() -> None:
    line = f"{PACKAGE}.scram.ScramLoginModule required username=u password=p tokenauth=true;"

    first = next(begin_exchange(credentials_of("SCRAM-SHA-256", parse_jaas(line)), os.urandom))

    assert isinstance(first, bytes)
    assert first.startswith(b"n,,n=u,r=")
    assert first.endswith(b",tokenauth=true")


def test_two_exchanges_have_different_nonces() -> None:
    line = f"{PACKAGE}.scram.ScramLoginModule required username=u password=p;"
    credentials = credentials_of("SCRAM-SHA-512", parse_jaas(line))

    assert next(begin_exchange(credentials, os.urandom)) != next(
        begin_exchange(credentials, os.urandom)
    )


@pytest.mark.parametrize("options", ["", "username=u", 'username="" password=p', "password=p"])
def test_a_login_without_name_or_password_is_refused(options: str) -> None:
    line = parse_jaas(f"{PACKAGE}.plain.PlainLoginModule required {options};")

    with pytest.raises(JaasError):
        credentials_of("PLAIN", line)
