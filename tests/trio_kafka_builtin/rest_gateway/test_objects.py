"""Objects in bodies: names that are not known."""

from typing import Any

import pytest

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka_builtin.rest_gateway.objects import check_object

NAMES = ("key", "value")


def test_object_with_some_of_the_known_names_is_accepted() -> None:
    check_object({}, NAMES, "here")
    check_object({"key": 1, "value": None}, NAMES, "here")


@pytest.mark.parametrize(
    ("document", "error"),
    [
        ({"valeu": 1}, "here: unknown name 'valeu'; did you mean 'value'?"),
        ({"key": 1, "q": 1}, "here: unknown name 'q'; want some of key, value"),
        ({"x" * 9000: 1}, f"here: unknown name '{'x' * 80}'; want some of key, value"),
        ([], "here is not an object"),
        (None, "here is not an object"),
        ("key", "here is not an object"),
    ],
)
def test_unknown_name_is_refused_with_a_suggestion(document: Any, error: str) -> None:
    with pytest.raises(KafkaError) as refused:
        check_object(document, NAMES, "here")

    assert (refused.value.code, refused.value.message) == (ErrorCode.INVALID_REQUEST, error)
