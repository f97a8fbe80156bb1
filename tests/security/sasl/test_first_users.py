import os

import pytest

from trio_kafka.security.sasl.first_users import first_user
from trio_kafka.security.sasl.scram import SHA_256, SHA_512, credential_of, salted_password


def test_a_user_with_a_password_gets_keys_and_a_random_salt() -> None:
    record = first_user('SCRAM-SHA-512=[name="a,b",password="p=,w",iterations=8192]', os.urandom)

    salted = salted_password(SHA_512, "p=,w", salt=record.salt, iterations=8192)
    expected = credential_of(SHA_512, salted, salt=record.salt, iterations=8192)
    assert (record.name, record.mechanism, record.iterations) == ("a,b", 2, 8192)
    assert (record.stored_key, record.server_key) == (expected.stored_key, expected.server_key)
    assert len(record.salt) > 20


def test_a_user_with_a_salted_password_gets_the_keys_of_that() -> None:
    record = first_user(
        "SCRAM-SHA-256=[name=alice,salt=MWx2NHBkbnc0ZndxN25vdGN4bTB5Mjd4,"
        'saltedpassword="mT0yyUUxnlJaC99HXgRTSYlbuqa4FSGtJCJfTMvjYCE=",iterations=8192]',
        os.urandom,
    )

    salted = salted_password(SHA_256, "alice-secret", salt=record.salt, iterations=8192)
    assert record.salt == b"1lv4pdnw4fwq7notcxm0y27x"
    assert len(record.stored_key) == len(salted) == 32


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "want SCRAM-SHA-256 or SCRAM-SHA-512"),
        ("PLAIN=[name=a,password=s3cret]", "want SCRAM-SHA-256 or SCRAM-SHA-512"),
        ("SCRAM-SHA-256=name=a,password=s3cret", "want SCRAM-SHA-256 or"),
        ("SCRAM-SHA-256=[password=s3cret]", "name is missing"),
        ("SCRAM-SHA-256=[name=a]", "one of password and saltedpassword"),
        ("SCRAM-SHA-256=[name=a,password=]", "one of password and saltedpassword"),
        ("SCRAM-SHA-256=[name=a,password=s3cret,saltedpassword=x]", "one of password and"),
        ("SCRAM-SHA-256=[name=a,saltedpassword=s3cret]", "needs its salt"),
        ("SCRAM-SHA-256=[name=a,password=s3cret,salt=!]", "must be base64"),
        ("SCRAM-SHA-256=[name=a,password=s3cret,iterations=4095]", "want 4096 to 16384"),
        ("SCRAM-SHA-256=[name=a,password=s3cret,iterations=16385]", "want 4096 to 16384"),
        ("SCRAM-SHA-256=[name=a,password=s3cret,iterations=x]", "is no number"),
        ("SCRAM-SHA-256=[name=a,name=b,password=s3cret]", "name is given twice"),
        ("SCRAM-SHA-256=[name=a,pass=s3cret]", "want NAME=VALUE"),
        ('SCRAM-SHA-256=[name=a,password="s3cret]', "want NAME=VALUE"),
    ],
)
def test_a_wrong_user_is_refused_and_the_password_is_not_shown(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as caught:
        first_user(text, os.urandom)

    assert "s3cret" not in str(caught.value)
