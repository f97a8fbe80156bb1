"""Errors of coordinators by their kind."""

import pytest

from trio_kafka.clients.errors import (
    AbortableError,
    FatalError,
    ProducerFencedError,
    RetriableError,
)
from trio_kafka.clients.producer.transactions.coordinator_errors import coordinator_error
from trio_kafka.errors import ErrorCode


@pytest.mark.parametrize(
    ("code", "abortable", "kind"),
    [
        (ErrorCode.PRODUCER_FENCED, True, ProducerFencedError),
        (ErrorCode.CONCURRENT_TRANSACTIONS, False, RetriableError),
        (ErrorCode.STALE_MEMBER_EPOCH, False, AbortableError),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, True, AbortableError),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, False, FatalError),
        (ErrorCode.INVALID_TXN_STATE, False, FatalError),
    ],
)
def test_error_is_of_the_kind_that_kafkas_client_makes_of_it(code, abortable, kind):
    error = coordinator_error(code, "id", "key", abortable=abortable)

    assert type(error) is kind
    assert error.code is code
