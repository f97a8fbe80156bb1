"""Metrics without a name in Kafka: loop, hops of requests, quotas, counters."""

import re
from typing import Any, Final

import trio

from trio_kafka.introspect.metrics import Labels
from trio_kafka.introspect.stamps import HOPS
from trio_kafka.network.turn import Turn
from trio_kafka.plugin import Kind, Steps
from trio_kafka.quotas.accounts import Accounts
from trio_kafka.requests.parts import Parts
from trio_kafka_metrics.readings import Readings, own

_A_STEP: Final = 64
_ILLEGAL: Final = re.compile(r"[^a-zA-Z0-9_]")

LAG = own(
    "loop_lag_seconds",
    Kind.GAUGE,
    "Longest pass of the loop in the last one to two minutes: the most that a ready task waits.",
    "plane",
)
PASSES = own("loop_passes_total", Kind.COUNTER, "Passes of the loop.", "plane")
BUSY = own("loop_busy_seconds_total", Kind.COUNTER, "Time in which the loop was busy.", "plane")
IDLE = own(
    "loop_idle_seconds_total", Kind.COUNTER, "Time in which the loop waited for I/O.", "plane"
)
WAKES = own(
    "task_scheduled_seconds",
    Kind.SUMMARY,
    "Time from the loop's wake-up to the start of a plane's task.",
    "plane",
)
WAKE_LONGEST = own("task_scheduled_seconds_max", Kind.GAUGE, "Longest since the start.", "plane")
TASKS = own("tasks", Kind.GAUGE, "Tasks.")
RUNNABLE = own("tasks_runnable", Kind.GAUGE, "Runnable tasks.")
HOPS_TAKEN = own(
    "request_hop_seconds",
    Kind.SUMMARY,
    "Time of requests in each hop; hop=total: all hops.",
    *("plane", "api", "hop"),
)
HOP_LONGEST = own(
    "request_hop_seconds_max",
    Kind.GAUGE,
    "Longest since the start.",
    *("plane", "api", "hop"),
)
THROTTLED = own("throttled_connections", Kind.GAUGE, "Connections throttled by a quota.", "quota")
THROTTLE_TIME = own(
    "throttle_time_seconds_max",
    Kind.GAUGE,
    "Mean throttle time of the most throttled client over the last minute.",
    "quota",
)
ACCOUNTS = own("quota_accounts", Kind.GAUGE, "Clients with a quota account of their own.", "quota")


def read_own(parts: Parts, readings: Readings) -> Steps[None]:
    """Read the metrics."""
    for plane in parts.planes:
        _read_loop(plane.turn, plane.name, readings)
        for key, sums in plane.times.settled():
            at = (plane.name, plane.times.name_of(key))
            for hop in HOPS:
                labels = HOPS_TAKEN.with_values(*at, hop)
                readings.summary(HOPS_TAKEN, labels, sums.count, total=getattr(sums, hop))
                readings.set(HOP_LONGEST, getattr(sums, f"{hop}_max"), *at, hop)
            yield
    tasks = trio.lowlevel.current_statistics()
    readings.set(TASKS, tasks.tasks_living)
    readings.set(RUNNABLE, tasks.tasks_runnable)
    quotas = parts.quotas.quotas
    for one in (quotas.produce, quotas.fetch, quotas.request, quotas.mutation):
        yield from _read_quota(one.accounts, quotas.now_ms(), readings)
    yield from _read_counters(parts, readings)


def _read_loop(turn: Turn, plane: str, readings: Readings) -> None:
    readings.set(LAG, float(turn.figures()["lag_ms"] or 0) / 1e3, plane)
    readings.set(PASSES, turn.passes, plane)
    readings.set(BUSY, turn.busy_s, plane)
    readings.set(IDLE, turn.idle_s, plane)
    readings.summary(WAKES, WAKES.with_values(plane), turn.wakes, total=turn.wake_s)
    readings.set(WAKE_LONGEST, turn.wake_longest_s, plane)


def _read_quota(accounts: Accounts[Any], now_ms: int, readings: Readings) -> Steps[None]:
    longest_ms = 0.0
    for number, account in enumerate(accounts, 1):
        longest_ms = max(longest_ms, account.waited.measure(now_ms) or 0.0)
        if not number % _A_STEP:
            yield
    readings.set(THROTTLED, accounts.waiting, accounts.name)
    readings.set(THROTTLE_TIME, longest_ms / 1e3, accounts.name)
    readings.set(ACCOUNTS, len(accounts), accounts.name)


def _read_counters(parts: Parts, readings: Readings) -> Steps[None]:
    """Read all counters. Counters of plugins have a prefix of their own, so that none looks like
    the broker's.
    """
    sums: dict[tuple[str, Labels], int] = {}
    for number, counted in enumerate(tuple(parts.counters), 1):
        labels = tuple((_ILLEGAL.sub("_", name), text) for name, text in counted.labels)
        of_plugin = any(name == "plugin" for name, _ in labels)
        stem = f"plugin_{counted.name}" if of_plugin else counted.name
        known = _ILLEGAL.sub("_", f"{stem}_total"), labels
        sums[known] = (
            sums.get(known, 0) + counted.value
        )  # names may differ in illegal characters only
        if not number % _A_STEP:
            yield
    for number, ((name, labels), value) in enumerate(sums.items(), 1):
        if readings.take(1):
            metric = own(name, Kind.COUNTER, "A counter of the broker, by its name.")
            readings.family(metric).add(value, labels)
        if not number % _A_STEP:
            yield
    yield
