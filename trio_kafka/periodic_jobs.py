"""Periodic jobs by name: one task runs all of them, one after the other.

The task sleeps until the first armed job is due; without one it sleeps for ever. The owner of a job
disarms it while there is nothing to do. Jobs that are nearly due run with the first one, so
periodic work wakes the loop once. A job that raises is logged, counted and run again; only
InvariantError is raised. A job that takes long delays the others: its work belongs in another task.
While a test moves the clock, runs are left out that would find nothing to do (`look_ahead`).
Jobs are added and armed inside `trio.run`. `Scheduler.run_now` runs any job at once, armed or not;
its next run is due when it was.
"""

from collections.abc import Awaitable, Callable
from math import ceil, inf
from typing import Final, NoReturn

import attrs
import trio
from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import InvariantError
from trio_kafka.introspect.declared_waits import waits_for, waits_for_its_argument
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.introspect.waits import Subject

Action = Callable[[], Awaitable[None] | None]

_log: Final = get_logger(__name__)
_EARLY: Final = 0.1  # share of its interval by which a job may run early, with another one


class UnknownJobError(ValueError):
    """Unknown name of a job; the message lists the names of all jobs."""


class JobNotRunError(RuntimeError):
    """The scheduler ended, or the job was cancelled, before it could run."""


@frozen(kw_only=True)
class JobRun:
    """One run of a job. error: type and message of what it raised; None: nothing."""

    name: str
    took_s: float
    error: str | None = None


@frozen(kw_only=True)
class JobStatus:
    """A job at one moment. next_in_s: None while it is disarmed; last_ago_s: None before a run."""

    name: str
    interval_s: float
    next_in_s: float | None
    last_ago_s: float | None
    last_took_s: float
    running: bool
    runs: int
    failures: int
    last_error: str | None


@define(eq=False)
class _RequestedRun:
    """A run that `run_now` has asked for. run: None: the job could not run."""

    done: trio.Event = field(factory=trio.Event)
    run: JobRun | None = None


@define(eq=False, kw_only=True)
class Job:
    """A job, as its owner arms, disarms and cancels it."""

    _scheduler: "Scheduler"
    name: str
    _interval_s: float
    _early_s: float
    _action: Action
    _idle_s: Callable[[], float] | None = None
    _due: float | None = field(default=None, init=False)
    _scope: trio.CancelScope | None = field(default=None, init=False)
    _last_run: float | None = field(default=None, init=False)
    _last_s: float = field(default=0.0, init=False)
    _last_error: str | None = field(default=None, init=False)
    _runs: int = field(default=0, init=False)
    _failures: int = field(default=0, init=False)
    _node: Node = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._node = self._scheduler.node.add(self.name, "job", self._figures)

    @property
    def armed(self) -> bool:
        """Whether it will run again."""
        return self._due is not None

    def arm(self, delay_s: float | None = None) -> None:
        """Run after `delay_s` (the interval, if None), then every interval.

        A run that is due sooner stays. Raises ValueError after `cancel`.
        """
        if not self._scheduler.knows(self):
            raise ValueError(f"job {self.name} was cancelled: add it again instead of arming it")
        due = trio.current_time() + (self._interval_s if delay_s is None else delay_s)
        if self._due is None or due < self._due:
            self._due = due
            self._scheduler.wake()

    def disarm(self) -> None:
        """Do not run until armed again; a run in progress continues. Idempotent."""
        self._due = None

    def cancel(self) -> None:
        """Remove the job; cancel a run in progress. Idempotent."""
        self._due = None
        self._scheduler.forget(self)
        self._node.remove()
        if self._scope is not None:
            self._scope.cancel()

    def is_due(self, now: float) -> bool:
        """Return whether it is due, or nearly due."""
        return self._due is not None and self._due - self._early_s <= now

    @property
    def due(self) -> float:
        """Time at which it is due; infinity if it is not armed."""
        return inf if self._due is None else self._due

    def works_at(self, now: float) -> float:
        """Return when it is due and will have something to do, if nothing else happens before."""
        if self._idle_s is None or self._due is None:
            return self.due
        late_s = now + self._idle_s() - self._due
        if late_s <= 0 or late_s == inf:
            return max(self._due, self._due + late_s)
        return self._due + ceil(late_s / self._interval_s) * self._interval_s

    async def run(self, *, early: bool = False) -> JobRun:
        """Run once. The next run is due an interval after this start, and not before its end.

        early: the next run stays due when it was; a disarmed job stays disarmed.
        """
        started = self._last_run = trio.current_time()
        if not early:
            self._due = started + self._interval_s
        self._runs += 1
        reason: str | None = None
        try:
            with trio.CancelScope() as self._scope:
                waiting = self._action()
                if waiting is not None:
                    await waiting
        except Exception as error:
            if _is_fatal(error):
                raise
            self._failures += 1
            reason = self._last_error = f"{type(error).__name__}: {error}"
            _log.exception("job failed", job=self.name, failures=self._failures)
        finally:
            self._scope = None
            ended = trio.current_time()
            self._last_s = ended - started
            if self._due is not None:  # after jobs that became due meanwhile
                self._due = max(self._due, ended)
        return JobRun(name=self.name, took_s=ended - started, error=reason)

    def status(self) -> JobStatus:
        """Return what it is doing, and how its last run ended."""
        now = trio.current_time()
        return JobStatus(
            name=self.name,
            interval_s=self._interval_s,
            next_in_s=None if self._due is None else max(0.0, self._due - now),
            last_ago_s=None if self._last_run is None else now - self._last_run,
            last_took_s=self._last_s,
            running=self._scope is not None,
            runs=self._runs,
            failures=self._failures,
            last_error=self._last_error,
        )

    def _figures(self) -> Figures:
        figures = attrs.asdict(self.status())
        del figures["name"]
        return figures


class Scheduler:
    """Jobs of one broker. They may be added before `run`, and by other jobs."""

    def __init__(self, node: Node) -> None:
        self.node = node.add("scheduler", "task", self._figures)
        self._jobs: dict[str, Job] = {}
        self._requested: dict[str, _RequestedRun] = {}  # by name of the job, so that it is bounded
        self._task: trio.lowlevel.Task | None = None
        self._changed = trio.Event()
        self._rest: trio.CancelScope | None = None  # until the next job is due
        self._wakes = 0

    def every(
        self,
        name: str,
        interval_s: float,
        action: Action,
        *,
        delay_s: float | None = None,
        early_s: float | None = None,
        armed: bool = True,
        idle_s: Callable[[], float] | None = None,
    ) -> Job:
        """Add a job that runs every `interval_s`, first after `delay_s` (None: the interval).

        action: a sync or async function.
        early_s: how early it may run, with another one; None: a tenth of the interval.
        armed: False: it does not run before `Job.arm`.
        idle_s: returns for how long a run would find nothing to do if nothing else happens; inf:
            for ever. None: it always has something to do.
        Raises ValueError for a name that is taken, or an interval that is not above `early_s`.
        """
        early_s = interval_s * _EARLY if early_s is None else early_s
        if name in self._jobs:
            raise ValueError(f"job {name} exists already: use another name")
        if not 0 <= early_s < interval_s:
            raise ValueError(f"job {name}: interval {interval_s} s, want more than {early_s} s")
        job = self._jobs[name] = Job(
            scheduler=self,
            name=name,
            interval_s=interval_s,
            early_s=early_s,
            action=action,
            idle_s=idle_s,
        )
        if armed:
            job.arm(delay_s)
        return job

    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Run jobs when they are due, until cancelled; started at once."""
        self._task = trio.lowlevel.current_task()
        try:
            task_status.started()
            while True:
                await self._run_requested()
                await self._run_due()
                await self._wait_for_next()
        finally:
            self._task = None
            for request in self._requested.values():
                request.done.set()
            self._requested.clear()
            self.node.remove()

    @property
    def task(self) -> trio.lowlevel.Task | None:
        """Task that runs the jobs; None while there is none."""
        return self._task

    @property
    def statuses(self) -> list[JobStatus]:
        """Status of each job, by name."""
        return [self._jobs[name].status() for name in sorted(self._jobs)]

    @waits_for_its_argument("change", "job", "a run of job {}")
    async def run_now(self, name: str) -> JobRun:
        """Run a job as soon as no other one runs, and return how that went.

        Calls before the run begins share it. Waits as long as the jobs take; a cancelled call lets
        the job go on. Raises UnknownJobError, and JobNotRunError if the scheduler does not run.
        RuntimeError if called by a job: it would wait for itself.
        """
        if name not in self._jobs:
            names = ", ".join(sorted(self._jobs)) or "none"
            raise UnknownJobError(f"no job {name!r}: there are {names}")
        if self._task is None:
            raise JobNotRunError(f"job {name}: the scheduler is not running")
        if trio.lowlevel.current_task() is self._task:
            raise RuntimeError(f"job {name}: a job cannot wait for another one: arm it instead")
        request = self._requested.setdefault(name, _RequestedRun())
        self.wake()
        await request.done.wait()
        if request.run is None:
            raise JobNotRunError(f"job {name}: it was cancelled, or the scheduler ended")
        return request.run

    def wake(self) -> None:
        """Recompute which job is due first, as one was armed."""
        self._changed.set()

    def knows(self, job: Job) -> bool:
        """Return whether the job was added and not cancelled."""
        return self._jobs.get(job.name) is job

    def forget(self, job: Job) -> None:
        """Remove a job; called by `Job.cancel`."""
        if self.knows(job):
            del self._jobs[job.name]

    async def _run_requested(self) -> None:
        for name in tuple(self._requested):  # later ones wait for the jobs that are due
            request = self._requested.pop(name)
            try:
                if name in self._jobs:
                    request.run = await self._jobs[name].run(early=True)
            finally:
                request.done.set()
            await trio.lowlevel.checkpoint()

    async def _run_due(self) -> None:
        now = trio.current_time()
        if all(job.due > now for job in self._jobs.values()):
            return  # jobs run early only with one that is due
        for job in sorted(self._jobs.values(), key=_due):
            # An earlier job may have disarmed or cancelled it.
            if job.is_due(now):
                await job.run()
                await trio.lowlevel.checkpoint()

    @waits_for("time", Subject("broker", "this broker"), "the next periodic job")
    async def _wait_for_next(self) -> None:
        # No checkpoint before the wait: arming a job later sets the new event.
        if self._requested:
            return  # since `_run_requested`
        self._changed = trio.Event()
        with trio.move_on_at(self._first_due) as self._rest:
            await self._changed.wait()
        self._rest = None
        self._wakes += 1

    @property
    def _first_due(self) -> float:
        return min(map(_due, self._jobs.values()), default=inf)

    # While a test moves the clock: see `world.clock.Follower`

    def look_ahead(self, goal: float) -> None:
        """Pass over the times at which jobs would find nothing to do.

        Jobs that became due meanwhile run once, at the goal or with the first that has work.
        """
        if self._rest is None or self._first_due > goal:
            return
        now = trio.current_time()
        works = min(job.works_at(now) for job in self._jobs.values() if job.due <= goal)
        self._rest.deadline = min(works, goal)

    def skipped(self, seconds: float) -> None:
        """Do nothing: jobs age with the clock."""

    def arrived(self) -> None:
        """Sleep until the first job that is due."""
        if self._rest is not None:
            self._rest.deadline = self._first_due

    def _figures(self) -> Figures:
        return {"jobs": len(self._jobs), "wakes": self._wakes}


def _due(job: Job) -> float:
    return job.due


def _is_fatal(error: Exception) -> bool:
    if isinstance(error, ExceptionGroup):
        return error.subgroup(InvariantError) is not None
    return isinstance(error, InvariantError)
