"""Free text in the data of pages, which may hold names that the broker does not know as names.

Clients send reasons with JoinGroup (KIP-800) and may call their software as they like; exceptions
of plugins and jobs say anything. An anonymous file has the kind of such a text in its place.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

LEFT_OUT: Final = "text left out"
KNOWN_SOFTWARE: Final = frozenset(
    {
        "aiokafka",
        "apache-kafka-java",
        "confluent-kafka-dotnet",
        "confluent-kafka-go",
        "confluent-kafka-javascript",
        "confluent-kafka-python",
        "kafka-python",
        "kafkajs",
        "kgo",
        "librdkafka",
        "sarama",
        "trio-kafka",
    }
)
"""Libraries of clients, whose names are no secrets."""
_REASONED: Final = ("cause", "records_by")
_ERRORS: Final = ("detail", "error", "last_error")
_OF_ERRORS: Final = ("failed-job", "failed-plugin", "lost-directory")
"""Kinds of findings that end with the text of an error."""
_REASON: Final = re.compile(r" \(.*", re.DOTALL)
_EXCEPTION: Final = re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b(?: \[Errno \d+\])?")


def without_free_text(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return JSON-ready data of one row with its free texts left out; nested rows are untouched."""
    copy = {key: _value(key, value) for key, value in data.items()}
    settings = copy.get("settings")
    if isinstance(settings, Mapping):  # of a plugin; those of a topic are rows
        copy["settings"] = dict.fromkeys(settings, LEFT_OUT)
    if copy.get("kind") in _OF_ERRORS and "title" in copy:
        copy["more"] = f": {error_kind(str(copy.get('more', '')))}"
        copy["words"] = f"{copy['title']}{copy['more']}"
    return copy


def _value(key: str, value: object) -> object:
    if not isinstance(value, str) or not value:
        return value
    if key in _ERRORS:
        return error_kind(value)
    # Rows have the cause of a rebalance, and nodes of the tree `rebalance 1` and the like. A leaf
    # that cannot be loaded says why.
    if key in _REASONED or key.startswith("rebalance "):
        return _REASON.sub(f" ({LEFT_OUT})", value)
    return value


def error_kind(text: str) -> str:
    """Return the classes of the exceptions that a text names, without what they say."""
    kinds = " ".join(dict.fromkeys(_EXCEPTION.findall(text)))
    return f"{kinds} ({LEFT_OUT})" if kinds else f"({LEFT_OUT})"
