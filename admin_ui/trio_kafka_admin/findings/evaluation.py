"""Evaluation of all rules over two moments, in slices."""

from typing import Final

import trio

from trio_kafka_admin.findings.change import Change
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.findings.folding import fold
from trio_kafka_admin.findings.rule_list import RULES
from trio_kafka_admin.moments import Moment

MOST_OF_A_RULE: Final = 100  # findings of one rule: more would not be read


def findings_of(before: Moment | None, now: Moment) -> list[Finding]:
    """Return the findings, those that come of another one below it, the worst first."""
    change = Change(before, now)
    return fold([finding for rule in RULES for finding in rule(change)])


async def find(before: Moment, now: Moment) -> list[Finding]:
    """Return the same, with a checkpoint after each rule."""
    change = Change(before, now)
    findings: list[Finding] = []
    for rule in RULES:
        for number, finding in enumerate(rule(change)):
            if number == MOST_OF_A_RULE:
                break
            findings.append(finding)
        await trio.lowlevel.checkpoint()
    return fold(findings)
