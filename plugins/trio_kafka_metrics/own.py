"""What Kafka has no name for: the loop, every request's hops in sum, quotas, and all counters."""

import re
from typing import Any, Final

import trio

from trio_kafka.introspect.metrics import Labels
from trio_kafka.introspect.request_metrics import HOPS
from trio_kafka.plugin import Kind, Steps
from trio_kafka.quotas.accounts import Accounts
from trio_kafka.requests.parts import Parts
from trio_kafka.scheduling.loop_budget import LoopBudget
from trio_kafka_metrics.readings import Readings, own

_A_STEP: Final = 64
_ILLEGAL: Final = re.compile(r"[^a-zA-Z0-9_]")

LAG = own(
    "loop_lag_seconds",
    Kind.GAUGE,
    "How late what becomes ready is at most: the longest pass of the last minute or two.",
    "plane",
)
PASSES = own("loop_passes_total", Kind.COUNTER, "Passes of the loop.", "plane")
BUSY = own("loop_busy_seconds_total", Kind.COUNTER, "Time in which the loop worked.", "plane")
IDLE = own("loop_idle_seconds_total", Kind.COUNTER, "Time in which the loop waited.", "plane")
WAKES = own(
    "task_scheduled_seconds",
    Kind.SUMMARY,
    "From the moment that the loop wakes to the turn of a plane's task.",
    "plane",
)
WAKE_LONGEST = own(
    "task_scheduled_seconds_max", Kind.GAUGE, "The longest of them in this life.", "plane"
)
TASKS = own("tasks", Kind.GAUGE, "Tasks.")
RUNNABLE = own("tasks_runnable", Kind.GAUGE, "Tasks that could run now.")
HOPS_TAKEN = own(
    "request_hop_seconds",
    Kind.SUMMARY,
    "Time that requests took in each hop; hop=total: in all.",
    *("plane", "api", "hop"),
)
HOP_LONGEST = own(
    "request_hop_seconds_max",
    Kind.GAUGE,
    "The longest of them in this life.",
    *("plane", "api", "hop"),
)
THROTTLED = own("throttled_connections", Kind.GAUGE, "Connections that wait for a quota.", "quota")
THROTTLE_TIME = own(
    "throttle_time_seconds_max",
    Kind.GAUGE,
    "The mean wait of the client that waits longest, of the last minute.",
    "quota",
)
ACCOUNTS = own("quota_accounts", Kind.GAUGE, "Clients that are charged by themselves.", "quota")


def read_own(parts: Parts, readings: Readings) -> Steps[None]:
    """All of it."""
    for plane in parts.planes:
        _read_loop(plane.budget, plane.name, readings)
        for key, sums in plane.request_metrics.settled():
            at = (plane.name, plane.request_metrics.name_of(key))
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


def _read_loop(budget: LoopBudget, plane: str, readings: Readings) -> None:
    readings.set(LAG, float(budget.figures()["lag_ms"] or 0) / 1e3, plane)
    readings.set(PASSES, budget.passes, plane)
    readings.set(BUSY, budget.busy_s, plane)
    readings.set(IDLE, budget.idle_s, plane)
    readings.summary(WAKES, WAKES.with_values(plane), budget.wakes, total=budget.wake_s)
    readings.set(WAKE_LONGEST, budget.wake_longest_s, plane)


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
    """Whatever is counted anywhere. What plugins count has a name of its own, so that it is never
    taken for the broker's.
    """
    sums: dict[tuple[str, Labels], int] = {}
    for number, counted in enumerate(tuple(parts.counters), 1):
        labels = tuple((_ILLEGAL.sub("_", name), text) for name, text in counted.labels)
        of_plugin = any(name == "plugin" for name, _ in labels)
        stem = f"plugin_{counted.name}" if of_plugin else counted.name
        known = _ILLEGAL.sub("_", f"{stem}_total"), labels
        sums[known] = sums.get(known, 0) + counted.value  # names may differ in what is illegal
        if not number % _A_STEP:
            yield
    for number, ((name, labels), value) in enumerate(sums.items(), 1):
        if readings.take(1):
            metric = own(name, Kind.COUNTER, "A counter of the broker, by its name.")
            readings.family(metric).add(value, labels)
        if not number % _A_STEP:
            yield
    yield
