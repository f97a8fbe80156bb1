"""The list of rules."""

from trio_kafka_admin.findings.rule_list import RULES


def test_list_of_rules_has_27_distinct_rules() -> None:
    names = {rule.__name__ for rule in RULES}

    assert len(names) == len(RULES) == 27
