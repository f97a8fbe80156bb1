"""Errors of the commands in words."""

import pytest

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.txn.remedies import open_transactions_client, refusal
from trio_kafka.clients.errors import RetriableError, UnsupportedError, client_error
from trio_kafka.errors import ErrorCode
from trio_kafka.testing.ports import LOOPBACK, unused_port


def test_refusal_names_the_error_and_what_to_do_about_it() -> None:
    refused = client_error(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    lost = client_error(ErrorCode.KAFKA_STORAGE_ERROR, "disk lost")

    assert str(refusal("topic t", refused)) == (
        "topic t: no permission on this topic: ask an administrator for READ"
        " (TOPIC_AUTHORIZATION_FAILED)"
    )
    assert str(refusal("topic t", lost)) == "topic t: disk lost (KAFKA_STORAGE_ERROR)"
    assert str(refusal("topic t", RetriableError("no answer"))) == "topic t: no answer"


def test_refused_connection_is_one_line_with_a_remedy() -> None:
    address = f"{LOOPBACK}:{unused_port()}"

    with pytest.raises(CommandFailedError) as error, open_transactions_client(address, 5) as admin:
        admin.list_topics()

    assert str(error.value) == (
        f"{address}: connection refused: start a broker there, or set --bootstrap or"
        " TRIO_KAFKA_BOOTSTRAP"
    )


@pytest.mark.parametrize(
    ("bootstrap", "words"),
    [("nowhere", "bootstrap.servers: 'nowhere': want host:port"), ("a:1", "update the broker")],
)
def test_wrong_address_and_old_broker_are_one_line(bootstrap: str, words: str) -> None:
    with pytest.raises(CommandFailedError, match=words), open_transactions_client(bootstrap, 5):
        raise UnsupportedError("too old")
