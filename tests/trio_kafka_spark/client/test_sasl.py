from typing import Any

import pytest

from tests.security.tokens.kit import token
from trio_kafka.protocol.messages.k17_sasl_handshake import (
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from trio_kafka.protocol.messages.k36_sasl_authenticate import SaslAuthenticateResponse
from trio_kafka_spark.client.errors import AuthenticationError
from trio_kafka_spark.client.sasl import login_of
from trio_kafka_spark.client.secret import Secret
from trio_kafka_spark.client.security import Sasl

PACKAGE = "org.apache.kafka.common.security"


def sasl(mechanism: str = "PLAIN") -> Sasl:
    module = {"PLAIN": "plain.PlainLoginModule"}.get(mechanism, "scram.ScramLoginModule")
    line = f'{PACKAGE}.{module} required username="u" password="s3cret";'
    return Sasl(mechanism=mechanism, jaas=Secret("kafka.sasl.jaas.config", line))


def log_in_answered(settings: Sasl, *answers: Any) -> tuple[list[object], float]:
    """Requests of the login to a broker with these answers, and for how long it is valid then."""
    handshake = login_of(settings)()
    requests = [next(handshake).request]
    try:
        for answer in answers:
            step = handshake.send(answer)
            requests.append(step.request)
    except StopIteration as end:
        return requests, end.value
    raise AssertionError(f"want more answers after {requests}")


def test_a_sasl_session_expires_before_its_lifetime_at_the_broker() -> None:
    shaken = SaslHandshakeResponse(0, ["PLAIN"])

    unlimited = SaslAuthenticateResponse(0, None, b"", 0)
    limited = SaslAuthenticateResponse(0, None, b"", 10_000)

    assert log_in_answered(sasl(), shaken, unlimited)[1] == float("inf")
    assert log_in_answered(sasl(), shaken, limited)[1] == 8.5


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([SaslHandshakeResponse(33, ["SCRAM-SHA-256"])], "does not enable PLAIN; .* SCRAM-SHA-256"),
        ([SaslHandshakeResponse(34, [])], "does not use SASL"),
        ([SaslHandshakeResponse(-1, [])], "SaslHandshake: error code -1"),
        (
            [SaslHandshakeResponse(), SaslAuthenticateResponse(58, "Invalid", b"")],
            "PLAIN login was rejected: Invalid",
        ),
        (
            [SaslHandshakeResponse(), SaslAuthenticateResponse(58, None, b"")],
            "PLAIN login was rejected: error code 58",
        ),
    ],
)
def test_a_rejected_login_is_an_error_that_hides_the_password(
    answers: list[Any], message: str
) -> None:
    with pytest.raises(AuthenticationError, match=message) as caught:
        log_in_answered(sasl(), *answers)

    assert "s3cret" not in str(caught.value)


def test_the_handshake_requests_the_configured_sasl_mechanism() -> None:
    step = next(login_of(sasl("SCRAM-SHA-512"))())

    assert step.request == SaslHandshakeRequest("SCRAM-SHA-512")


def oauth(text: str, **more: object) -> Sasl:
    """Settings of a login with this token, by the option of the source's own."""
    line = f"{PACKAGE}.oauthbearer.OAuthBearerLoginModule required token={text};"
    jaas = Secret("kafka.sasl.jaas.config", line)
    return Sasl(mechanism="OAUTHBEARER", jaas=jaas, oauth=more)


def test_connections_of_one_client_present_the_same_token() -> None:
    text = token()
    log_in = login_of(oauth(text))

    for _ in range(2):
        handshake = log_in()
        assert next(handshake).request == SaslHandshakeRequest("OAUTHBEARER")
        step = handshake.send(SaslHandshakeResponse(0, ["OAUTHBEARER"]))
        assert text.encode() in step.request.auth_bytes


def test_a_token_that_cannot_be_got_is_an_error_that_names_its_source() -> None:
    url = {"sasl.oauthbearer.token.endpoint.url": "file:///none/token"}
    line = f"{PACKAGE}.oauthbearer.OAuthBearerLoginModule required;"
    missing = Sasl(mechanism="OAUTHBEARER", jaas=Secret("kafka.sasl.jaas.config", line), oauth=url)

    with pytest.raises(AuthenticationError, match="/none/token: No such file") as caught:
        next(login_of(missing)())
    with pytest.raises(AuthenticationError, match="want header, payload and signature"):
        next(login_of(oauth("s3cret"))())

    assert "s3cret" not in str(caught.value)
