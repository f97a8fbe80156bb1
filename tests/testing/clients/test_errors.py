"""Errors of the clients."""

import pytest

from trio_kafka.errors import ErrorCode
from trio_kafka.testing.clients.errors import AnswerError, DeliveryError, check


def test_an_error_code_becomes_an_exception_with_its_name():
    check(0)
    with pytest.raises(AnswerError, match="NOT_COORDINATOR") as caught:
        check(ErrorCode.NOT_COORDINATOR)
    assert caught.value.code is ErrorCode.NOT_COORDINATOR


def test_delivery_error_says_whether_the_batch_may_have_been_appended():
    assert DeliveryError("x", unknown=True).unknown
