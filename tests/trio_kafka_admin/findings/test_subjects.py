"""Subjects that several rules name: they are those of the waits."""

from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.subjects import channel_of, handlers_of, plane_of


def test_subjects_have_the_names_of_the_waits() -> None:
    assert handlers_of("data") == Subject("limiter", "num.io.threads of plane data")
    assert channel_of("data") == Subject("channel", "request-channel of plane data")


def test_plane_of_a_node_is_its_second_name() -> None:
    assert plane_of(("broker-1", "plane data", "x")) == "data"
    assert plane_of(("broker-1", "plugins", "x")) == plane_of(("broker-1",)) == ""
