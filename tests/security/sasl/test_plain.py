import pytest

from trio_kafka.security.sasl.errors import AuthenticationError
from trio_kafka.security.sasl.plain import PlainServer, plain

USERS = {"ann": "secret", "bob": "pässword"}


def test_the_message_of_a_plain_client_authenticates_it() -> None:
    for user, password in USERS.items():
        server = PlainServer(USERS)

        assert server.evaluate(next(plain(user, password))) == b""

        assert server.user == user
        assert server.expires_ms is None


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        (b"", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"\0ann", "Invalid SASL/PLAIN response: expected 3 tokens, got 2"),
        (b"\0ann\0secret\0", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0\0secret", "Authentication failed: username not specified"),
        (b"\0ann\0", "Authentication failed: password not specified"),
        (b"\0ann\0wrong", "Authentication failed: Invalid username or password"),
        (b"\0eve\0secret", "Authentication failed: Invalid username or password"),
        (b"\0ann\0\xff", "Authentication failed: Invalid username or password"),
        (b"\0\xff\0secret", "Authentication failed: Invalid username or password"),
        (
            b"bob\0ann\0secret",
            (
                "Authentication failed: Client requested an authorization id that is different"
                " from username"
            ),
        ),
    ],
)
def test_a_rejected_plain_login_has_the_text_of_kafka(token: bytes, reason: str) -> None:
    server = PlainServer(USERS)

    with pytest.raises(AuthenticationError) as caught:
        server.evaluate(token)

    assert (caught.value.reason, caught.value.answer) == (reason, reason)
    assert server.user is None


def test_an_authorization_id_equal_to_the_user_name_is_accepted() -> None:
    server = PlainServer(USERS)

    server.evaluate(b"ann\0ann\0secret")

    assert server.user == "ann"


def test_a_plain_client_refuses_names_and_passwords_that_it_cannot_send() -> None:
    assert next(plain("u", "p")) == b"\0u\0p"
    for name, password in (("", "p"), ("u", ""), ("u\0", "p")):
        with pytest.raises(ValueError, match="may be neither empty nor hold a NUL"):
            next(plain(name, password))
