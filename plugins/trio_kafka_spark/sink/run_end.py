"""End of a run: its tasks that are still alive write nothing more, and leave nothing open.

Spark calls `abort` while it is still killing the other tasks of the job. Such a task may have begun
its transaction, or may do so later. So the driver first makes an id known, the mark, and then looks
for ids that have begun; a task first begins its own id, and then looks for the mark. So one of the
two sees the other: the task stops before it writes, or the driver fences it.
"""

from typing import Final

from trio_kafka_spark.client.coordinator import Coordinator, Transaction
from trio_kafka_spark.client.errors import SourceError
from trio_kafka_spark.sink.epochs import Run
from trio_kafka_spark.sink.options import TransactionOptions

RUN_ENDED: Final = "KAFKA_RUN_ENDED"


def begun_at_end(
    coordinator: Coordinator, options: TransactionOptions, run: Run
) -> dict[str, Transaction]:
    """Mark a run as ended, and return what its tasks have begun, by transactional id.

    Tasks that begin later write nothing. The caller commits or fences each of these.
    """
    mark = options.end_of(run)
    coordinator.init(mark, options.timeout_ms)
    begun = coordinator.begun_transactions(options.ids_of(run))
    begun.pop(mark, None)
    return begun


def fence(coordinator: Coordinator, options: TransactionOptions, transaction: Transaction) -> None:
    """Abort a transaction of an ended run, and fence its task.

    By InitProducerId: after an EndTxn, a task that lives could open it again, as the older protocol
    keeps the epoch.
    """
    coordinator.init(transaction.transactional_id, options.timeout_ms)


def check_running(coordinator: Coordinator, options: TransactionOptions, run: Run) -> None:
    """Raise SourceError if the run has ended. A task calls this once it has begun its id."""
    if coordinator.is_known(options.end_of(run)):
        raise SourceError(
            RUN_ENDED,
            "the driver has ended this write before the task wrote anything, because another task"
            " failed; nothing is to be done about this one",
        )
