"""Rules of the plugin `faults` that strike requests."""

from tests.trio_kafka_admin.findings.kit import apply, moment, node, request, wait
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.change import Change
from trio_kafka_admin.findings.rules.fault_rules import fault_rule, striking_rules

RULE = '{"api": "Produce", "delay_s": 2}'


def test_rule_that_matched_since_the_earlier_moment_is_shown_with_its_text() -> None:
    before, now = (moment(at, node("f/late", "part", rule=RULE, hits=at)) for at in (1.0, 4.0))

    [finding] = apply(fault_rule, now, before)

    assert finding.words == f"rule late of plugin faults has matched 3 requests: {RULE}"


def test_rule_that_holds_a_request_is_a_finding_though_it_strikes_no_other() -> None:
    held = request(why=(wait("fault", "fault rule", "late"),))
    before, now = (
        moment(at, node("f/late", "part", rule=RULE, hits=1), requests=[held]) for at in (0.0, 1.0)
    )

    [finding] = apply(fault_rule, now, before)

    assert (finding.hurt, finding.severity) == (1, "watch")


def test_rule_that_strikes_nothing_is_no_finding() -> None:
    before, now = (moment(at, node("f/late", "part", rule=RULE, hits=1)) for at in (0.0, 1.0))

    assert apply(fault_rule, now, before) == []


def test_rule_about_no_api_is_about_all_and_an_unreadable_one_about_those_it_names() -> None:
    rules = {"all": "{}", "other": '{"api": "Fetch"}', "odd": "Produce?", "list": "[]"}
    nodes = [node(f"f/{name}", "part", rule=rule, hits=1) for name, rule in rules.items()]

    subjects = list(striking_rules(Change(moment(0.0), moment(1.0, *nodes)), "Produce"))

    assert subjects == [Subject("fault rule", "all"), Subject("fault rule", "odd")]
