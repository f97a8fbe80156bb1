"""Checks of the objects in a body: a misspelled name is an error, never a missing value."""

from collections.abc import Collection

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka_http.asgi_json import unknown_name


def check_object(document: object, allowed: Collection[str], where: str) -> dict[str, object]:
    """Return a part of a body, which must be an object with no other names than `allowed`.

    where: the part, for the message. Raises KafkaError(INVALID_REQUEST).
    """
    if not isinstance(document, dict):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{where} is not an object")
    if error := unknown_name(document, allowed):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{where}: {error}")
    return document
