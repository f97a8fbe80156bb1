"""Client's side of SASL against the broker's authenticator, without I/O."""

import os

import pytest

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.network.authentication.sasl_authenticator import SaslAuthenticator
from trio_kafka.network.authenticator import Authenticator
from trio_kafka.peers.sasl import log_in
from trio_kafka.peers.session import Step, Work
from trio_kafka.protocol.schema import message_of
from trio_kafka.security.sasl.client import Credentials
from trio_kafka.security.sasl.exchange import ServerMechanism
from trio_kafka.security.sasl.plain import PlainServer
from trio_kafka.security.sasl.scram import BY_NAME, credential_of, salted_password
from trio_kafka.security.sasl.scram_server import ScramServer
from trio_kafka.testing.scripted_client import request_frame
from trio_kafka.wire.client import decode_response


def authenticator(*names: str, iterations: int = 4096, session_ms: int = 0) -> Authenticator:
    """A broker that knows ann by these mechanisms."""

    def scram(name: str) -> ScramServer:
        mechanism = BY_NAME[name]
        salted = salted_password(mechanism, "secret", salt=b"s", iterations=iterations)
        credential = credential_of(mechanism, salted, salt=b"s", iterations=iterations)
        find = {"ann": credential}.get
        return ScramServer(mechanism=mechanism, credential=find, nonce="server", secret=b"x")

    mechanisms = {
        name: ServerMechanism(
            name=name,
            begin=lambda name=name: (
                PlainServer({"ann": "secret"}) if name == "PLAIN" else scram(name)
            ),
            longest_session_ms=session_ms,
        )
        for name in names
    }
    return SaslAuthenticator(mechanisms, lambda: 0.0)


def run(served: Authenticator, mechanism: str, password: str = "secret") -> tuple[float, int]:
    """For how long the session is valid, and how often there was work for a thread."""
    credentials = Credentials(mechanism=mechanism, username="ann", password=password)
    handshake = log_in(credentials, os.urandom)
    works = 0
    try:
        step = next(handshake)
        while True:
            if isinstance(step, Work):
                works += 1
                step = handshake.send(step.call())
                continue
            step = handshake.send(_answer(served, step))
    except StopIteration as end:
        return end.value, works


def _answer(served: Authenticator, step: Step) -> object:
    request = step.request
    version = message_of(type(request)).versions[1]
    answer = served.take(request_frame(request, version)[4:], 0.0).answer
    assert answer is not None
    return decode_response(request.response, version, answer[4:])  # type: ignore[attr-defined]


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_client_with_the_right_password_is_logged_in(mechanism: str) -> None:
    assert run(authenticator(mechanism), mechanism) == (float("inf"), 0)


def test_a_session_is_given_up_before_the_broker_ends_it() -> None:
    assert run(authenticator("PLAIN", session_ms=10_000), "PLAIN")[0] == 8.5


@pytest.mark.parametrize(("iterations", "works"), [(4096, 0), (4097, 1), (16384, 1)])
def test_many_iterations_are_work_for_a_thread(iterations: int, works: int) -> None:
    served = authenticator("SCRAM-SHA-256", iterations=iterations)

    assert run(served, "SCRAM-SHA-256") == (float("inf"), works)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_wrong_password_is_an_error_that_does_not_show_it(mechanism: str) -> None:
    with pytest.raises(KafkaError, match=f"{mechanism} login was rejected") as caught:
        run(authenticator(mechanism), mechanism, "s3cret")

    assert caught.value.code is ErrorCode.SASL_AUTHENTICATION_FAILED
    assert "s3cret" not in str(caught.value)


def test_a_mechanism_that_the_broker_lacks_is_an_error_with_those_that_it_has() -> None:
    with pytest.raises(
        KafkaError, match="does not enable PLAIN; it enables: SCRAM-SHA-256"
    ) as caught:
        run(authenticator("SCRAM-SHA-256"), "PLAIN")

    assert caught.value.code is ErrorCode.UNSUPPORTED_SASL_MECHANISM
