"""Periodic jobs of a broker under test, run at once."""

from typing import Final

from trio_kafka.controls.running import HasParts
from trio_kafka.periodic_jobs import JobRun

__tracebackhide__ = True  # pytest ends the traceback of a failed test where it calls the kit

RETENTION: Final = "kafka-log-retention"


class JobFailedError(AssertionError):
    """Failure of a job that a test ran, with its error. The broker keeps running."""


async def run_job(broker: HasParts, name: str) -> JobRun:
    """Run a job now, and wait for its end. Raises UnknownJobError, JobFailedError."""
    run = await broker.parts.scheduler.run_now(name)
    if run.error is not None:
        raise JobFailedError(f"job {name}: {run.error}")
    return run
