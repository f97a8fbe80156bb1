"""The source of a test that makes a trouble happen again, with the test kit of trio-kafka.

Names that clients chose are written as literals of Python, so they are no code.
"""

from collections.abc import Callable, Mapping
from typing import Final

from trio_kafka_admin.copying.of_groups import crash_loop, lagging_group, silent_member
from trio_kafka_admin.copying.of_requests import (
    blocked_loop,
    fault_rule,
    slow_handler,
    slow_request,
    throttled_client,
    waiting_fetch,
)
from trio_kafka_admin.copying.of_transactions import (
    hanging_transaction,
    long_transaction,
    unmarked_transaction,
)
from trio_kafka_admin.copying.trouble import Trouble, TroubleKind

_SOURCES: Final[Mapping[TroubleKind, Callable[[Trouble], str]]] = {
    "slow-request": slow_request,
    "slow-handler": slow_handler,
    "blocked-loop": blocked_loop,
    "throttled-client": throttled_client,
    "silent-member": silent_member,
    "crash-loop": crash_loop,
    "lagging-group": lagging_group,
    "waiting-fetch": waiting_fetch,
    "fault-rule": fault_rule,
    "long-transaction": long_transaction,
    "unmarked-transaction": unmarked_transaction,
    "hanging-transaction": hanging_transaction,
}


def source_of(trouble: Trouble) -> str:
    """Return a module for pytest. Raises HttpError(400) for a rule that is no JSON object."""
    return _SOURCES[trouble.kind](trouble)
