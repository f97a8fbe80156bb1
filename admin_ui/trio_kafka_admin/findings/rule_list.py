"""The list of rules."""

from collections.abc import Callable, Iterator
from typing import Final

from trio_kafka_admin.findings.change import Change
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.findings.rules.channels import dropped, full_channel, late_channel
from trio_kafka_admin.findings.rules.clients import throttled_client, unread_answers
from trio_kafka_admin.findings.rules.counts import counted, not_running
from trio_kafka_admin.findings.rules.crash_loops import crash_loop
from trio_kafka_admin.findings.rules.directories import directory_space, lost_directory
from trio_kafka_admin.findings.rules.failures import failed_job, failed_plugin
from trio_kafka_admin.findings.rules.fault_rules import fault_rule
from trio_kafka_admin.findings.rules.groups import silent_member
from trio_kafka_admin.findings.rules.handlers import busy_handlers
from trio_kafka_admin.findings.rules.lags import lagging_group
from trio_kafka_admin.findings.rules.limiters import spent_limiter
from trio_kafka_admin.findings.rules.long_waits import long_wait
from trio_kafka_admin.findings.rules.loops import blocked_loop, busy_loop
from trio_kafka_admin.findings.rules.min_bytes import waiting_fetch
from trio_kafka_admin.findings.rules.slow_apis import slow_api
from trio_kafka_admin.findings.rules.slow_plugins import slow_plugin
from trio_kafka_admin.findings.rules.syncs import slow_sync
from trio_kafka_admin.findings.rules.transactions import (
    hanging_transaction,
    long_transaction,
    unmarked_transaction,
)

Rule = Callable[[Change], Iterator[Finding]]
"""Pure function of two moments: yields the findings of one trouble."""

RULES: Final[tuple[Rule, ...]] = (
    full_channel,
    late_channel,
    spent_limiter,
    busy_handlers,
    failed_plugin,
    failed_job,
    dropped,
    busy_loop,
    blocked_loop,
    not_running,
    slow_api,
    slow_plugin,
    fault_rule,
    long_wait,
    waiting_fetch,
    slow_sync,
    unread_answers,
    throttled_client,
    silent_member,
    lagging_group,
    crash_loop,
    hanging_transaction,
    unmarked_transaction,
    long_transaction,
    directory_space,
    lost_directory,
    counted,
)
