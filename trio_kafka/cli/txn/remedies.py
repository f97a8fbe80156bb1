"""Admin client of the commands `trio-kafka txn`, and its errors with what to do about them."""

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Final

from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.cli.admin import open_cluster, reason_of
from trio_kafka.cli.near_names import nearest_topic
from trio_kafka.clients.blocking import BlockingAdmin
from trio_kafka.clients.errors import ClientError
from trio_kafka.errors import ErrorCode

UNKNOWN: Final = "the server has no API for transactions: update the broker"
TIMEOUT_S: Final = 30.0
_REMEDIES: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: (
        "there is no such transactional id: list them with `trio-kafka txn list`"
    ),
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: (
        "no permission on this transactional id: ask an administrator for DESCRIBE"
    ),
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: (
        "no permission on this topic: ask an administrator for READ"
    ),
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: (
        "no permission on the cluster: ask an administrator for ALTER"
    ),
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "there is no such partition",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "not a name of a topic",
    ErrorCode.INVALID_REGULAR_EXPRESSION: (
        "--transactional-id-pattern is not a regular expression of RE2/J"
    ),
}


def open_transactions_client(
    bootstrap: str, timeout_s: float
) -> AbstractContextManager[BlockingAdmin]:
    """Open an admin client. Raises CommandFailedError for a ClientError of its block."""
    return open_cluster(bootstrap, timeout_s, unsupported=UNKNOWN)


def refusal(about: str, error: ClientError, hint: str = "") -> CommandFailedError:
    """Return the error of the command for one of the broker. about: what was asked for.

    hint: at the nearest name, if that was wrong.
    """
    if error.code is None:
        return CommandFailedError(f"{about}: {reason_of(error)}", FAILED)
    remedy = _REMEDIES.get(error.code, error.message)
    return CommandFailedError(f"{about}: {remedy} ({error.code.name}){hint}", FAILED)


def topic_refusal(
    admin: BlockingAdmin, about: str, topic: str, error: ClientError
) -> CommandFailedError:
    """Return the error of the command for one about a topic, perhaps with the nearest name."""
    is_unknown = error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return refusal(about, error, nearest_topic(admin, topic) if is_unknown else "")


def now_ms() -> int:
    """Return the wall clock of this machine, in ms."""
    return int(time.time() * 1000)
