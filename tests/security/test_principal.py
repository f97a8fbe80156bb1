"""Who asks, as Kafka writes it."""

from trio_kafka.security.principal import ANONYMOUS, Principal


def test_a_principal_is_a_type_and_a_name() -> None:
    assert str(Principal("User", "alice")) == "User:alice"
    assert str(ANONYMOUS) == "User:ANONYMOUS"
