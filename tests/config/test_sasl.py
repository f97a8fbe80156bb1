import pytest

from trio_kafka.config.jaas import parse_jaas
from trio_kafka.config.sasl import SaslMechanism, unserved, users_of

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def test_users_of_plain_are_the_options_that_begin_with_user() -> None:
    line = f'{PLAIN} required username="me" password="mine" user_ann="a,b" user_b.ob="c";'

    assert users_of(parse_jaas(line)) == {"ann": "a,b", "b.ob": "c"}


@pytest.mark.parametrize(
    ("mechanisms", "reason"),
    [
        (("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"), None),
        (("PLAIN", "GSSAPI"), "GSSAPI .Kerberos., Kafka's default, is not supported"),
        (("plain",), "'plain' is not supported: want some of PLAIN"),
    ],
)
def test_mechanisms_that_are_not_served_have_a_reason(
    mechanisms: tuple[str, ...], reason: str | None
) -> None:
    if reason is None:
        assert unserved(mechanisms) is None
    else:
        assert (unserved(mechanisms) or "").startswith(
            reason.replace(".", "(", 1).replace(".", ")", 1)
        )


def test_the_text_of_a_mechanism_hides_the_passwords() -> None:
    assert "s3cret" not in repr(SaslMechanism(name="PLAIN", passwords={"ann": "s3cret"}))
