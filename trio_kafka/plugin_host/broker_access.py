"""Settings, quotas, tasks and log of the broker for plugins that show them.

As `state_access`: read in process and in slices, with a permission on the cluster. Settings need
DESCRIBE_CONFIGS, as in DescribeConfigs; all others DESCRIBE.
"""

from collections.abc import Sequence
from typing import Final

import trio

from trio_kafka.attributes import frozen
from trio_kafka.config.report.describe import Row, broker_setting_names, describe_broker
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.facts.quotas import QuotaKind, QuotaLimit, QuotaUsage
from trio_kafka.introspect.log_tail import LogEvent, LogTail
from trio_kafka.introspect.tasks import TaskReading, find_task, list_tasks
from trio_kafka.plugin_host.state_access import is_allowed
from trio_kafka.quotas.usage import quota_kinds, quota_limits, quota_usage
from trio_kafka.requests.parts import Parts
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import Principal

_SETTINGS: Final = 32  # settings between two checkpoints: 0.5 ms
_QUOTAS: Final = 64  # limits or accounts between two checkpoints: 0.3 ms


@frozen(kw_only=True)
class QuotaReading:
    """Quotas of one moment. truncated: there are more limits or accounts."""

    kinds: Sequence[QuotaKind]
    limits: Sequence[QuotaLimit]
    usage: Sequence[QuotaUsage]
    truncated: bool


async def read_settings_as(principal: Principal, parts: Parts) -> list[Row]:
    """Return the settings of this broker: value, source and description; no secret has a value.

    Raises KafkaError(CLUSTER_AUTHORIZATION_FAILED).
    """
    _require(principal, parts, Operation.DESCRIBE_CONFIGS)
    layers = parts.settings.usable(parts.metadata.image)
    names = broker_setting_names(layers)
    rows = list[Row]()
    for start in range(0, len(names), _SETTINGS):
        await trio.lowlevel.checkpoint()
        rows += describe_broker(layers, names[start : start + _SETTINGS])
    await trio.lowlevel.checkpoint()
    return rows


async def read_quotas_as(principal: Principal, parts: Parts, *, most: int) -> QuotaReading:
    """Return limits and usage of clients, at most `most` of each, throttled ones first.

    Raises KafkaError(CLUSTER_AUTHORIZATION_FAILED).
    """
    _require(principal, parts, Operation.DESCRIBE)
    quotas = parts.quotas.quotas
    limits = list[QuotaLimit]()
    for number, limit in enumerate(quota_limits(quotas), 1):
        limits.append(limit)
        if not number % _QUOTAS:
            await trio.lowlevel.checkpoint()
    usages = list[QuotaUsage]()
    for number, usage in enumerate(quota_usage(quotas), 1):
        usages.append(usage)
        if not number % _QUOTAS:
            await trio.lowlevel.checkpoint()
    await trio.lowlevel.checkpoint()
    usages.sort(key=lambda usage: (-usage.throttle_ms, usage.limit is None, -usage.used))
    return QuotaReading(
        kinds=quota_kinds(quotas),
        limits=limits[:most],
        usage=usages[:most],
        truncated=len(limits) > most or len(usages) > most,
    )


async def list_tasks_as(principal: Principal, parts: Parts, *, most: int) -> TaskReading:
    """List the tasks of this process. Raises KafkaError(CLUSTER_AUTHORIZATION_FAILED)."""
    _require(principal, parts, Operation.DESCRIBE)
    return await list_tasks(most)


def find_task_as(principal: Principal, parts: Parts, path: str) -> trio.lowlevel.Task:
    """Return a task of this process, to look at its stack.

    Raises KafkaError: CLUSTER_AUTHORIZATION_FAILED; RESOURCE_NOT_FOUND if it has ended.
    """
    _require(principal, parts, Operation.DESCRIBE)
    task = find_task(path)
    if task is None:
        message = f"no task {path[:200]!r}: it has ended"
        raise KafkaError(ErrorCode.RESOURCE_NOT_FOUND, message)
    return task


def read_log_as(principal: Principal, parts: Parts, tail: LogTail) -> list[LogEvent]:
    """Return the last events of the log. Raises KafkaError(CLUSTER_AUTHORIZATION_FAILED)."""
    _require(principal, parts, Operation.DESCRIBE)
    return tail.events()


def _require(principal: Principal, parts: Parts, operation: Operation) -> None:
    if not is_allowed(principal, parts, operation):
        raise KafkaError(
            ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
            f"{principal} has no permission {operation.name} on the cluster: ask an administrator"
            " for it",
        )
