"""Checks of what clients sent, read and committed, against what the broker promises.

A `History` is filled by the kit's clients, or by calls around your own. `check_history` raises
`BrokenGuaranteeError` with one line per violation. The rules are pure functions, usable alone.

Transactions are noted with `History.transaction`. Readers, and the log, then read committed records
only (`isolation.level=read_committed`).
"""

from trio_kafka.testing.checkers.commits import excess_commits, lost_commits
from trio_kafka.testing.checkers.history import History, NotedTransaction
from trio_kafka.testing.checkers.records import (
    disordered_records,
    doubled_records,
    lost_records,
    replaced_records,
    skipped_records,
)
from trio_kafka.testing.checkers.transactions import (
    aborted_reads,
    early_reads,
    torn_transactions,
)
from trio_kafka.testing.checkers.verdict import (
    BrokenGuaranteeError,
    check_history,
    find_violations,
)
from trio_kafka.testing.checkers.violation import Log, Violation

__all__ = [
    "BrokenGuaranteeError",
    "History",
    "Log",
    "NotedTransaction",
    "Violation",
    "aborted_reads",
    "check_history",
    "disordered_records",
    "doubled_records",
    "early_reads",
    "excess_commits",
    "find_violations",
    "lost_commits",
    "lost_records",
    "replaced_records",
    "skipped_records",
    "torn_transactions",
]
