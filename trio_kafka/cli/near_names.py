"""The nearest name to one that does not exist."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trio_kafka.clients.blocking import BlockingAdmin
    from trio_kafka.clients.errors import ClientError


def nearest(name: str, others: Sequence[str]) -> str:
    """Return a hint at the name that is most like another one; empty: none is."""
    near = get_close_matches(name, others, n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""


def nearest_topic(admin: "BlockingAdmin", name: str) -> str:
    """Return a hint at the topic of the cluster that has the nearest name; empty: none has."""
    from trio_kafka.clients.errors import ClientError  # noqa: PLC0415 - only for errors

    try:
        return nearest(name, list(admin.list_topics()))
    except ClientError:
        return ""


def with_nearest_topic(admin: "BlockingAdmin", error: "ClientError", name: str) -> "ClientError":
    """Return an error about a topic; if it does not exist, with the nearest name."""
    from trio_kafka.errors import ErrorCode  # noqa: PLC0415 - only for errors

    if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return error
    message = f"{error.message}{nearest_topic(admin, name)}"
    return type(error)(message, place=error.place, code=error.code, sent=error.sent)
