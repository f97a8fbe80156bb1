"""Errors of the clients."""

import pytest

from trio_kafka.errors import ErrorCode
from trio_kafka.testing.clients.errors import AnswerError, check


def test_an_error_code_becomes_an_exception_with_its_name():
    check(0)
    with pytest.raises(AnswerError, match="NOT_COORDINATOR") as caught:
        check(ErrorCode.NOT_COORDINATOR)
    assert caught.value.code is ErrorCode.NOT_COORDINATOR
