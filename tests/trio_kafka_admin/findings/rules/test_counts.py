"""Figures that are 0 in a healthy broker, and the state of the broker."""

from tests.trio_kafka_admin.findings.kit import apply, directory, moment, node
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.rules.counts import counted, not_running


def test_offline_partitions_come_of_the_directory_that_was_lost() -> None:
    partitions = node("replica-manager", "part", offline=3, under_replicated=1)
    directories = (directory("/a", error="EIO"), directory("/b"))

    findings = apply(counted, moment(1.0, partitions, directories=directories))

    assert [(finding.words, finding.because) for finding in findings] == [
        ("partitions offline: 3", (Subject("directory", "/a"),)),
        ("under-replicated partitions: 1", ()),
    ]


def test_node_of_the_same_name_elsewhere_is_not_counted() -> None:
    assert apply(counted, moment(1.0, node("plugins/listening", "part", failed=1))) == []


def test_broker_that_does_not_run_says_its_state() -> None:
    now = moment(1.0, node("lifecycle-manager", "part", state="fenced"))

    [finding] = apply(not_running, now)

    assert finding.words == "the broker is not serving: it is fenced"
