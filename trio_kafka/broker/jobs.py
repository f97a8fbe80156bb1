"""The broker's periodic jobs, by Kafka's names; none ticks where there is nothing to do."""

from collections.abc import Callable
from functools import partial

from trio_kafka.config.broker import BrokerConfig
from trio_kafka.log.manager import LogManager
from trio_kafka.log.upkeep import forget_producers, retain_all, sync_due, write_checkpoints
from trio_kafka.scheduler import Job, Scheduler

_SOON_S = 1.0


def add_jobs(
    scheduler: Scheduler,
    config: BrokerConfig,
    logs: LogManager,
    current: Callable[[], BrokerConfig],
) -> None:
    """Upkeep of the logs: retention, flush by time, checkpoints, deleted files, old producers.

    current: what is in force, of what may change while the broker runs.
    """
    delay_s = config.log_initial_task_delay_ms / 1000

    async def retain() -> None:
        await retain_all(logs)

    scheduler.every("kafka-log-retention", config.log_retention_check_interval_ms / 1000, retain)
    # One job writes both kinds of checkpoint, so the shorter interval counts.
    checkpoint_ms = min(
        config.log_flush_offset_checkpoint_interval_ms,
        config.log_flush_start_offset_checkpoint_interval_ms,
    )
    scheduler.every(
        "kafka-recovery-point-checkpoint",
        checkpoint_ms / 1000,
        partial(write_checkpoints, logs),
        delay_s=delay_s,
    )
    if config.log_flush_scheduler_interval_ms < 1 << 62:
        scheduler.every(
            "kafka-log-flusher",
            config.log_flush_scheduler_interval_ms / 1000,
            partial(sync_due, logs),
        )

    async def forget() -> None:
        await forget_producers(logs, current().producer_id_expiration_ms)

    scheduler.every(
        "PeriodicProducerExpirationCheck",
        config.producer_id_expiration_check_interval_ms / 1000,
        forget,
    )
    removal: Job

    async def remove() -> None:
        due_s = await logs.removal.remove_due()
        removal.disarm()
        if due_s is not None:
            removal.arm(max(due_s, _SOON_S))

    removal = scheduler.every("kafka-delete-logs", 3600.0, remove, delay_s=delay_s)
    logs.removal.on_added = lambda: removal.arm(current().log_segment_delete_delay_ms / 1000)
