"""All rules at once."""

from typing import Final

from trio_kafka.testing.checkers.commits import excess_commits, lost_commits
from trio_kafka.testing.checkers.history import History
from trio_kafka.testing.checkers.records import (
    Starts,
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
from trio_kafka.testing.checkers.violation import Log, Violation

_SHOWN: Final = 10
_NO_STARTS: Final[Starts] = {}


class BrokenGuaranteeError(AssertionError):
    """The broker, or a client, broke a promise; the text has one line per violation."""

    def __init__(self, violations: list[Violation]) -> None:
        lines = [str(violation) for violation in violations[:_SHOWN]]
        if len(violations) > _SHOWN:
            lines.append(f"... and {len(violations) - _SHOWN} more")
        super().__init__("\n".join(lines))
        self.violations = violations


def find_violations(history: History, log: Log, starts: Starts = _NO_STARTS) -> list[Violation]:
    """Return the violations of all rules."""
    return [
        *lost_records(history, log, starts),
        *replaced_records(history, log),
        *doubled_records(history, log),
        *disordered_records(history),
        *skipped_records(history, log),
        *aborted_reads(history, log),
        *early_reads(history),
        *torn_transactions(history, log),
        *excess_commits(history),
        *lost_commits(history),
    ]


def check_history(history: History, log: Log, starts: Starts = _NO_STARTS) -> None:
    """Raise BrokenGuaranteeError if any rule is violated."""
    violations = find_violations(history, log, starts)
    if violations:
        raise BrokenGuaranteeError(violations)
