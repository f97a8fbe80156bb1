"""Faults by rule: requests of a running broker fail, wait, or lose their response."""

from trio_kafka.controls.faults.faults import Fault, Faults
from trio_kafka.controls.faults.rule import FaultRule
from trio_kafka.controls.faults.rule_values import RuleError

__all__ = [
    "Fault",
    "FaultRule",
    "Faults",
    "RuleError",
    "faults",
    "tables",
]
