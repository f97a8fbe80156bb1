"""Timers of a shard: transactions that are too old are aborted, ids that are not used are removed.

A transaction's age counts from its first partition, not from InitProducerId. Searches are
periodic, as in Kafka, so that a transaction sets no timer of its own.
"""

from collections.abc import Mapping
from typing import Final

from trio_kafka.coordinators.shards.effects import Effects
from trio_kafka.coordinators.transactions.ending import fence
from trio_kafka.coordinators.transactions.records import tombstone
from trio_kafka.coordinators.transactions.states import IDLE, TransactionState
from trio_kafka.coordinators.transactions.transactions import (
    EXPIRY,
    TIME_OUTS,
    TimerEvent,
    Transactions,
)
from trio_kafka.introspect.log import get_logger
from trio_kafka.scheduling.chunked_work import Steps

_A_STEP: Final = 64  # ids in one step
_MOST: Final = 1000  # ids that one event changes; the others wait for the next search
_SOON_MS: Final = 10  # to a search for the others
_logger: Final = get_logger(__name__)


def abort_old(machine: Transactions, now_ms: int) -> Steps[Effects]:
    """Abort the transactions that are above their timeout, and fence their producers."""
    aborted = []
    for number, name in enumerate(tuple(machine.ongoing), 1):
        transaction = machine.by_id[name]
        is_ongoing = transaction.state is TransactionState.ONGOING
        if is_ongoing and transaction.started_ms + transaction.timeout_ms < now_ms:
            aborted.append(fence(transaction, machine.version, now_ms))
            _logger.info(
                "transaction timed out",
                transactional_id=name,
                producer_id=transaction.producer_id,
                timeout_ms=transaction.timeout_ms,
            )
        if len(aborted) >= _MOST:
            break
        if not number % _A_STEP:
            yield
    effects = machine.prepare(*aborted)
    if len(aborted) < len(machine.ongoing):
        delay_ms = _SOON_MS if len(aborted) >= _MOST else machine.settings.time_out_check_ms
        effects.set_timer(TIME_OUTS, delay_ms)
    return effects


def remove_unused(machine: Transactions, now_ms: int) -> Steps[Effects]:
    """Remove ids that have not changed for `transactional.id.expiration.ms`.

    An id with an open transaction, or one that is being ended, stays.
    """
    oldest_ms = now_ms - machine.settings.id_expiration_ms
    unused = []
    for number, transaction in enumerate(tuple(machine.by_id.values()), 1):
        if transaction.state in IDLE and transaction.updated_ms <= oldest_ms:
            unused.append(tombstone(transaction.transactional_id))
        if len(unused) >= _MOST:
            break
        if not number % _A_STEP:
            yield
    effects = Effects(unused, atomic=False)
    delay_ms = _SOON_MS if len(unused) >= _MOST else machine.settings.expiry_check_ms
    return effects.set_timer(EXPIRY, delay_ms)


TIMER_EVENTS: Final[Mapping[str, TimerEvent]] = {
    str(TIME_OUTS[0]): abort_old,
    str(EXPIRY[0]): remove_unused,
}
"""Events by kind of timer."""
