import pytest

from trio_kafka.security.sasl.errors import AuthenticationError
from trio_kafka.security.sasl.oauthbearer import oauthbearer


def test_a_rejected_oauth_token_is_acknowledged_and_then_an_error() -> None:
    exchange = oauthbearer("t.o.k", {"a": "b"})
    assert next(exchange) == b"n,,\x01auth=Bearer t.o.k\x01a=b\x01\x01"
    assert exchange.send(b'{"status":"invalid_token"}') == b"\x01"
    with pytest.raises(AuthenticationError, match="invalid_token"):
        exchange.send(b"")
