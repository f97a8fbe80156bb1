"""Server's side of SCRAM, with our own client, that of RFC 7677, and clients that lie."""

import hmac
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.security.sasl.errors import AuthenticationError
from trio_kafka.security.sasl.scram import (
    SHA_256,
    SHA_512,
    ScramCredential,
    ScramMechanism,
    credential_of,
    from_base64,
    hash_of,
    salted_password,
    to_base64,
    xor,
)
from trio_kafka.security.sasl.scram_client import scram
from trio_kafka.security.sasl.scram_server import LARGEST, ScramServer, decoy

SECRET = b"secret of decoys"


def credential(
    mechanism: ScramMechanism, password: str, *, salt: bytes = b"salt", iterations: int = 4096
) -> ScramCredential:
    salted = salted_password(mechanism, password, salt=salt, iterations=iterations)
    return credential_of(mechanism, salted, salt=salt, iterations=iterations)


def server(
    mechanism: ScramMechanism = SHA_256, *, nonce: str = "server", **users: ScramCredential
) -> ScramServer:
    return ScramServer(mechanism=mechanism, credential=users.get, nonce=nonce, secret=SECRET)


def log_in(served: ScramServer, user: str, password: str, extension: str = "") -> None:
    """Run an exchange to its end. Raises AuthenticationError of either side."""
    client = scram(served.mechanism, user, password, nonce="client", extension=extension)
    message = next(client)
    try:
        while True:
            if callable(message):
                message = client.send(message())
            else:
                message = client.send(served.evaluate(message))
    except StopIteration:
        return


@pytest.mark.parametrize("mechanism", [SHA_256, SHA_512])
@pytest.mark.parametrize("iterations", [4096, 16384])
def test_a_client_that_knows_the_password_is_authenticated(
    mechanism: ScramMechanism, iterations: int
) -> None:
    served = server(mechanism, ann=credential(mechanism, "pw", iterations=iterations))

    log_in(served, "ann", "pw")

    assert served.user == "ann"


def test_the_answers_equal_the_example_of_rfc_7677() -> None:
    salt = from_base64("W22ZaJ0SNY7soEsUEjb6gQ==")
    nonce = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    served = server(nonce=nonce, user=credential(SHA_256, "pencil", salt=salt))

    first = served.evaluate(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    final = served.evaluate(
        f"c=biws,r=rOprNGfwEbeRWgbNEkqO{nonce},".encode()
        + b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )

    expected = f"r=rOprNGfwEbeRWgbNEkqO{nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    assert first == expected.encode()
    assert final == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


@given(st.text(st.characters(min_codepoint=1, max_codepoint=127), min_size=1), st.text())
def test_any_user_name_in_ascii_and_any_password_authenticates(name: str, password: str) -> None:
    served = server(**{name: credential(SHA_256, password)})

    log_in(served, name, password)

    assert served.user == name


@pytest.mark.parametrize(("user", "password"), [("ann", "wrong"), ("eve", "pw")])
def test_an_unknown_user_fails_exactly_as_a_wrong_password_does(user: str, password: str) -> None:
    served = server(ann=credential(SHA_256, "pw", salt=b"1yz4hpmsjbavqnpg8fmt5ey2c"))

    with pytest.raises(AuthenticationError) as caught:
        log_in(served, user, password)

    assert (caught.value.reason, caught.value.answer) == ("Invalid client credentials", None)
    assert served.user is None


def test_an_unknown_user_fails_even_with_the_key_from_which_its_salt_is_made() -> None:
    served = server(SHA_512)
    answer = served.evaluate(b"n,,n=eve,r=client").decode()
    decoy_credential = decoy(SHA_512, SECRET, "eve")
    key = hmac.digest(SECRET, b"SCRAM-SHA-512 eve", "sha512")
    assert hash_of("sha512", key) == decoy_credential.stored_key

    unproven = "c=biws,r=clientserver"
    signed = f"n=eve,r=client,{answer},{unproven}".encode()
    proof = xor(key, hmac.digest(decoy_credential.stored_key, signed, "sha512"))
    with pytest.raises(AuthenticationError, match="Invalid client credentials"):
        served.evaluate(f"{unproven},p={to_base64(proof)}".encode())


def test_the_salt_of_an_unknown_user_is_always_the_same_and_looks_like_one_of_kafkas_tools() -> (
    None
):
    first = {name: server().evaluate(f"n,,n={name},r=c".encode()) for name in ("eve", "mallory")}

    assert server().evaluate(b"n,,n=eve,r=c") == first["eve"]
    assert first["eve"] != first["mallory"]
    for answer in first.values():
        match = re.fullmatch(rb"r=cserver,s=(.+),i=4096", answer)
        assert match is not None
        assert re.fullmatch(rb"[0-9a-z]{20,26}", from_base64(match[1].decode()))


def test_another_secret_gives_an_unknown_user_another_salt() -> None:
    other = ScramServer(mechanism=SHA_256, credential=lambda _: None, nonce="server", secret=b"x")

    assert other.evaluate(b"n,,n=eve,r=c") != server().evaluate(b"n,,n=eve,r=c")


def test_a_delegation_token_is_not_known() -> None:
    with pytest.raises(AuthenticationError, match="Invalid client credentials"):
        log_in(server(ann=credential(SHA_256, "pw")), "ann", "pw", ",tokenauth=true")


def _replaced(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda message: message.replace(old, new)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_replaced(b"r=clientserver", b"r=clientother"), "Invalid client nonce"),
        (_replaced(b"r=clientserver", b"r=xclientserver"), "Invalid client nonce"),
        (_replaced(b"c=biws", b"c=eSws"), "Invalid client credentials"),
        (_replaced(b",p=", b",p=AAAA"), "Invalid client credentials"),
        (_replaced(b",p=", b",q="), "Invalid SCRAM client final message format"),
        (_replaced(b",p=", b",p=!"), "Invalid SCRAM client final message format"),
        (lambda message: message[:20], "Invalid SCRAM client final message format"),
        (lambda message: b"", "Invalid SCRAM client final message format"),
        (lambda message: message.rpartition(b",p=")[0] + b",p=A", "Invalid SCRAM client final"),
    ],
)
def test_a_changed_final_message_is_rejected(change: Callable[[bytes], bytes], reason: str) -> None:
    served = server(ann=credential(SHA_256, "pw"))
    client = scram(SHA_256, "ann", "pw", nonce="client")
    first = next(client)
    assert isinstance(first, bytes)
    final = client.send(served.evaluate(first))
    assert isinstance(final, bytes)

    with pytest.raises(AuthenticationError, match=reason):
        served.evaluate(change(final))

    assert served.user is None


def test_a_replayed_exchange_fails_as_the_server_has_a_new_nonce() -> None:
    stored = credential(SHA_256, "pw")
    client = scram(SHA_256, "ann", "pw", nonce="client")
    recorded = [next(client)]
    first = server(ann=stored)
    assert isinstance(recorded[0], bytes)
    recorded.append(client.send(first.evaluate(recorded[0])))
    second = server(nonce="another", ann=stored)
    second.evaluate(recorded[0])

    with pytest.raises(AuthenticationError, match="nonce"):
        assert isinstance(recorded[1], bytes)
        second.evaluate(recorded[1])


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"n,,",
        b"n,,n=,r=x",
        b"n,,n=ann,r=",
        b"y,,n=ann,r=x",
        b"p=tls-unique,,n=ann,r=x",
        b"n,,n=a=nn,r=x",
        b"n,,n=ann,r=x\n",
        b"n,,n=\xff,r=x",
        b"\0ann\0pw",
    ],
)
def test_a_malformed_first_message_is_rejected(message: bytes) -> None:
    with pytest.raises(AuthenticationError, match="Invalid SCRAM client first message format"):
        server(ann=credential(SHA_256, "pw")).evaluate(message)


def test_another_authorization_id_is_rejected_and_the_own_name_is_accepted() -> None:
    with pytest.raises(AuthenticationError, match="authorization id") as caught:
        server().evaluate(b"n,a=bob,n=ann,r=x")

    assert caught.value.answer == caught.value.reason
    assert server().evaluate(b"n,a=ann,n=ann,r=x").startswith(b"r=xserver,s=")


def test_a_message_after_the_end_of_the_exchange_is_rejected() -> None:
    served = server(ann=credential(SHA_256, "pw"))
    log_in(served, "ann", "pw")

    with pytest.raises(AuthenticationError, match="after the end"):
        served.evaluate(b"n,,n=ann,r=x")


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_random_messages_never_authenticate_and_raise_no_other_error(
    first: bytes, second: bytes
) -> None:
    served = server(ann=credential(SHA_256, "pw"))

    with pytest.raises(AuthenticationError):
        served.evaluate(first)
        served.evaluate(second)


def test_no_text_of_a_credential_shows_its_keys() -> None:
    stored = credential(SHA_256, "pw")

    assert "iterations=4096" in repr(stored)
    assert repr(stored.stored_key)[2:-1] not in repr(stored)


@pytest.mark.parametrize("part", ["n,,n={},r=c", "n,,n=ann,r={}", "n,,n=ann,r=c,x={}"])
def test_a_client_cannot_make_the_server_keep_long_messages(part: str) -> None:
    longest = "x" * (LARGEST - len(part) + 2)

    assert server().evaluate(part.format(longest).encode())
    with pytest.raises(AuthenticationError, match=f"a message of {LARGEST + 1} bytes"):
        server().evaluate(part.format(longest + "x").encode())
