"""Commits and aborts on the driver: of epochs of streams, by their lists, and of batch writes."""

from collections.abc import Iterable, Sequence
from typing import Final

from trio_kafka_spark.client.cluster import Cluster
from trio_kafka_spark.client.coordinator import Coordinator, Transaction
from trio_kafka_spark.client.errors import FencedError, SourceError
from trio_kafka_spark.client.settings import ClientSettings
from trio_kafka_spark.sink.epoch_log import EpochLog
from trio_kafka_spark.sink.epochs import (
    LOST,
    Decision,
    Run,
    check_open,
    decide,
    decide_abort,
    lost_after,
    names_of,
)
from trio_kafka_spark.sink.options import TransactionOptions
from trio_kafka_spark.sink.run_end import begun_at_end, fence

_MOST_FENCES: Final = 5


def commit_epoch(
    settings: ClientSettings,
    options: TransactionOptions,
    run: Run,
    *,
    number: int,
    prepared: Iterable[Transaction],
) -> None:
    """Commit the records of one epoch, or those of another run that has decided it before.

    Raises SourceError; the epoch is then either not decided, so a restart writes it again, or
    decided, so a restart commits what is left.
    """
    prepared = tuple(prepared)
    log = EpochLog(settings, prefix=options.prefix, query=run.query)
    with Cluster(settings) as cluster:
        coordinator = Coordinator(cluster)
        decision = _decided(
            log, coordinator, run, options=options, number=number, prepared=prepared
        )
        lost = [each for each in decision.commit if not coordinator.end(each, commit=True)]
        for each in decision.abort:
            coordinator.end(each, commit=False)
        if lost:
            raise lost_after(f"epoch {number}", lost, decision.commit)


def abort_epoch(
    settings: ClientSettings, options: TransactionOptions, run: Run, *, number: int
) -> None:
    """Abort what this run has written of an epoch that failed, unless the epoch is decided.

    The query has failed, so the run has ended: tasks that Spark is still killing write no more.
    """
    log = EpochLog(settings, prefix=options.prefix, query=run.query)
    own = options.ids_of(run)
    with Cluster(settings) as cluster:
        coordinator = Coordinator(cluster)
        log.fence(coordinator)
        last = log.last(coordinator)
        begun = begun_at_end(coordinator, options, run)
        for each in decide_abort(number, last=last, open_now=begun, own=own):
            fence(coordinator, options, each)


def commit_write(
    settings: ClientSettings,
    options: TransactionOptions,
    run: Run,
    *,
    prepared: Sequence[Transaction],
) -> None:
    """Commit a batch write. No other process can finish it: see the guide for what that means.

    Other tasks are fenced before: once something is committed, only commits are left to do.
    """
    committed: list[Transaction] = []
    with Cluster(settings) as cluster:
        coordinator = Coordinator(cluster)
        begun = begun_at_end(coordinator, options, run)
        check_open("the write", prepared, begun)
        for each in {*begun.values()} - {*prepared}:
            fence(coordinator, options, each)
        try:
            for each in prepared:
                if not coordinator.end(each, commit=True):
                    raise FencedError.of(each.transactional_id)
                committed.append(each)
        except SourceError as error:
            missing = [each for each in prepared if each not in committed]
            raise SourceError(
                LOST,
                f"the write is not whole: {len(committed)} of {len(prepared)} transactions were"
                f" committed, these were not: {names_of(missing)}; the reason: {error}. Readers see"
                " the records of those that were committed; to repeat the write doubles them",
            ) from error


def abort_write(settings: ClientSettings, options: TransactionOptions, run: Run) -> None:
    """Abort all transactions of a batch write, also of tasks that Spark is still killing."""
    with Cluster(settings) as cluster:
        coordinator = Coordinator(cluster)
        for each in begun_at_end(coordinator, options, run).values():
            fence(coordinator, options, each)


def _decided(
    log: EpochLog,
    coordinator: Coordinator,
    run: Run,
    *,
    options: TransactionOptions,
    number: int,
    prepared: Sequence[Transaction],
) -> Decision:
    """Return the decision on an epoch, which is durable."""
    for turn in range(_MOST_FENCES):
        fence = log.fence(coordinator)
        decision = decide(
            number,
            prepared,
            last=log.last(coordinator),
            open_now=coordinator.open_transactions(options.ids_of_query(run.query)),
            own=options.ids_of(run),
        )
        if decision.write is None:
            return decision
        try:
            log.append(coordinator, fence, decision.write)
        except FencedError:
            if turn == _MOST_FENCES - 1:
                raise
        else:
            return decision
    raise AssertionError  # pragma: no cover - the last turn returns or raises
