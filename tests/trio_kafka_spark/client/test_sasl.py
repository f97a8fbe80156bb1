from typing import Any

import pytest

from trio_kafka.protocol.messages.k17_sasl_handshake import (
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from trio_kafka.protocol.messages.k36_sasl_authenticate import SaslAuthenticateResponse
from trio_kafka_spark.client.errors import AuthenticationError
from trio_kafka_spark.client.sasl import log_in
from trio_kafka_spark.client.secret import Secret
from trio_kafka_spark.client.security import Sasl

PACKAGE = "org.apache.kafka.common.security"


def sasl(mechanism: str = "PLAIN") -> Sasl:
    module = {"PLAIN": "plain.PlainLoginModule"}.get(mechanism, "scram.ScramLoginModule")
    line = f'{PACKAGE}.{module} required username="u" password="s3cret";'
    return Sasl(mechanism=mechanism, jaas=Secret("kafka.sasl.jaas.config", line))


def log_in_answered(settings: Sasl, *answers: Any) -> tuple[list[object], float]:
    """What the login asks of a broker with these answers, and for how long it is valid then."""
    handshake = log_in(settings)
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
    step = next(log_in(sasl("SCRAM-SHA-512")))

    assert step.request == SaslHandshakeRequest("SCRAM-SHA-512")
