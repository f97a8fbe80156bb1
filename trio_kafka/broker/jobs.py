"""Periodic jobs of the broker, under Kafka's names; an idle job does not wake the loop."""

from collections.abc import Callable
from functools import partial
from math import inf

from trio_kafka.config.broker import BrokerConfig
from trio_kafka.log.files.checkpoints import HIGH_WATERMARKS, RECOVERY_POINTS, START_OFFSETS
from trio_kafka.log.manager.disk_space import EVERY_S, DiskSpace
from trio_kafka.log.manager.idle_upkeep import (
    checkpoint_idle_s,
    flush_idle_s,
    producers_idle_s,
    retention_idle_s,
)
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.log.manager.maintenance import (
    forget_producers,
    retain_all,
    sync_due,
    write_checkpoints,
    write_high_watermarks,
)
from trio_kafka.periodic_jobs import Action, Job, Scheduler

_SOON_S = 1.0


def add_jobs(
    scheduler: Scheduler,
    config: BrokerConfig,
    logs: LogManager,
    *,
    current: Callable[[], BrokerConfig],
) -> DiskSpace:
    """Add the log jobs: disk space, retention, flush, checkpoints, deletion, producer expiry.

    Returns the watch over the disk space.

    current: returns the settings in force, for those that may change while the broker runs.
    """
    delay_s = config.log_initial_task_delay_ms / 1000

    async def retain() -> None:
        await retain_all(logs)

    space = DiskSpace(lambda: logs.online, lambda: current().trio_disk_warning_percent)
    logs.node.add("disk-space", "part", space.figures)
    # An idle broker writes nothing to the disk.
    scheduler.every("trio-disk-space", EVERY_S, space.check, delay_s=0.0, idle_s=lambda: inf)
    scheduler.every(
        "kafka-log-retention",
        config.log_retention_check_interval_ms / 1000,
        retain,
        idle_s=partial(retention_idle_s, logs),
    )
    _add_checkpoints(scheduler, config, logs)
    if config.log_flush_scheduler_interval_ms < 1 << 62:
        scheduler.every(
            "kafka-log-flusher",
            config.log_flush_scheduler_interval_ms / 1000,
            partial(sync_due, logs),
            idle_s=partial(flush_idle_s, logs),
        )

    async def forget() -> None:
        await forget_producers(logs, current().producer_id_expiration_ms)

    scheduler.every(
        "PeriodicProducerExpirationCheck",
        config.producer_id_expiration_check_interval_ms / 1000,
        forget,
        idle_s=lambda: producers_idle_s(logs, current().producer_id_expiration_ms),
    )
    removal: Job

    async def remove() -> None:
        due_s = await logs.removal.remove_due()
        removal.disarm()
        if due_s is not None:
            removal.arm(max(due_s, _SOON_S))

    removal = scheduler.every("kafka-delete-logs", 3600.0, remove, delay_s=delay_s)
    logs.removal.on_added = lambda: removal.arm(current().log_segment_delete_delay_ms / 1000)
    return space


def _add_checkpoints(scheduler: Scheduler, config: BrokerConfig, logs: LogManager) -> None:
    """Add one job per kind of checkpoint; high watermarks are written from the start on."""
    delay_s = config.log_initial_task_delay_ms / 1000
    for name, checkpoint, interval_ms, first_s, action in (
        (
            "kafka-recovery-point-checkpoint",
            RECOVERY_POINTS,
            config.log_flush_offset_checkpoint_interval_ms,
            delay_s,
            partial(write_checkpoints, logs, RECOVERY_POINTS),
        ),
        (
            "kafka-log-start-offset-checkpoint",
            START_OFFSETS,
            config.log_flush_start_offset_checkpoint_interval_ms,
            delay_s,
            partial(write_checkpoints, logs, START_OFFSETS),
        ),
        (
            "highwatermark-checkpoint",
            HIGH_WATERMARKS,
            config.replica_high_watermark_checkpoint_interval_ms,
            0.0,
            partial(write_high_watermarks, logs),
        ),
    ):
        if interval_ms > 0:
            idle_s = partial(checkpoint_idle_s, logs, checkpoint)
            scheduler.every(name, interval_ms / 1000, action, delay_s=first_s, idle_s=idle_s)
        else:
            _once(scheduler, name, first_s, action=action)


def _once(scheduler: Scheduler, name: str, delay_s: float, *, action: Action) -> None:
    """Run an action once: Kafka's meaning of an interval of 0."""
    job: Job

    async def run() -> None:
        job.disarm()
        waiting = action()
        if waiting is not None:
            await waiting

    job = scheduler.every(name, 1.0, run, delay_s=delay_s)
