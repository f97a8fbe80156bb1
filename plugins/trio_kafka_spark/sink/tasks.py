"""Transaction of one task: its transactional id, its begin, its abort when the task fails."""

from collections.abc import Callable
from contextlib import suppress
from typing import Final

import attrs
from pyspark import TaskContext

from trio_kafka.attributes import frozen
from trio_kafka_spark.client.cluster import Cluster
from trio_kafka_spark.client.coordinator import Coordinator, Transaction
from trio_kafka_spark.client.errors import UNSUPPORTED, OptionError, SourceError
from trio_kafka_spark.client.settings import ClientSettings
from trio_kafka_spark.sink.epochs import Run
from trio_kafka_spark.sink.options import TransactionOptions
from trio_kafka_spark.sink.run_end import check_running

_QUERY_ID: Final = "sql.streaming.queryId"  # StreamExecution.QUERY_ID_KEY of Spark
_RUN_ID: Final = "spark.jobGroup.id"  # a query sets its run's id
_ABORT_TIMEOUT_MS: Final = 5000  # for a task that fails; the driver and the time-out come after it


@frozen(kw_only=True)
class Task:
    """One attempt at one task of a job. number: of all attempts of the application."""

    partition: int
    attempt: int
    number: int


def current_task() -> Task:
    """Return the task that runs in this worker."""
    context = _context()
    return Task(
        partition=context.partitionId(),
        attempt=context.attemptNumber(),
        number=context.taskAttemptId(),
    )


def current_run() -> Run:
    """Return query and run of the task that runs in this worker. Raises SourceError."""
    context = _context()
    query, run = context.getLocalProperty(_QUERY_ID), context.getLocalProperty(_RUN_ID)
    if not query or not run:
        raise SourceError(
            UNSUPPORTED,
            f"exactlyOnce: Spark gives its tasks no {_RUN_ID if query else _QUERY_ID}, by which the"
            " transactions of a query are known; use Spark 4.2 or 4.3, or exactlyOnce=false",
        )
    return Run(query, run)


def beginner(
    options: TransactionOptions, run: Run, task: Task
) -> Callable[[Coordinator], Transaction]:
    """Return what begins the transaction of a task.

    Its id is used again for the same task of later epochs. Spark counts attempts anew when it runs
    a stage again, so the id may be that of a task whose result is taken: a transaction that is open
    is never aborted here, the task gets an id of its own instead. A task of a run that has ended
    fails, see `run_end`.
    """
    name = f"{options.ids_of(run)}{task.partition}-{task.attempt}"

    def begin(coordinator: Coordinator) -> Transaction:
        free = f"{name}-{task.number}" if coordinator.is_open(name) else name
        transaction = coordinator.init(free, options.timeout_ms)
        check_running(coordinator, options, run)
        return transaction

    return begin


def abort_soon(settings: ClientSettings, transaction: Transaction) -> None:
    """Abort the transaction of a task that fails, if that is possible at once."""
    timeout_ms = min(settings.api_timeout_ms, _ABORT_TIMEOUT_MS)
    quick = attrs.evolve(settings, api_timeout_ms=timeout_ms)
    with suppress(SourceError, OptionError), Cluster(quick) as cluster:
        Coordinator(cluster).end(transaction, commit=False)


def _context() -> TaskContext:
    context = TaskContext.get()
    if context is None:
        raise SourceError(UNSUPPORTED, "exactlyOnce: expected to run in a task of Spark")
    return context
