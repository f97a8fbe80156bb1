"""Clients that do not read their answers, and clients that are throttled."""

from tests.trio_kafka_admin.findings.kit import apply, connection, moment, wait
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.rules.clients import throttled_client, unread_answers

QUOTA = wait(
    "quota",
    "quota",
    "Produce of client importer",
    "the quota Produce of client importer: 67,914 of 20,000 B/s used",
    needs=20_000,
    has=67_914,
    age_s=3.0,
    left_s=14.9,
)


def test_client_that_does_not_read_is_named_with_what_it_leaves() -> None:
    stuck = connection("stuck", unsent_bytes=16_842_825, unsent_s=12.0)

    [finding] = apply(unread_answers, moment(1.0, connections=[stuck]))

    assert finding.words == (
        "client stuck does not read its answers: it has taken nothing for 12 s; 16.8 MB wait to be"
        " sent to 127.0.0.1 on connection of-stuck"
    )
    assert (finding.severity, finding.link) == ("wrong", Subject("connection", "of-stuck"))


def test_client_that_reads_slowly_is_no_finding() -> None:
    connections = [
        connection("slow", unsent_bytes=100, unsent_s=1.9),
        connection("new", unsent_bytes=100),
        connection("idle", unsent_s=60.0),
    ]

    assert apply(unread_answers, moment(1.0, connections=connections)) == []


def test_throttled_client_is_one_finding_that_names_quota_use_and_end() -> None:
    shorter = wait("quota", "quota", "Produce of client importer", "less", left_s=1.0)
    connections = [
        connection("importer", id="a", waits=(shorter,)),
        connection("importer", id="b", waits=(wait("client", "connection", "b"), QUOTA)),
        connection("other", waits=(wait("memory", "limiter", "memory-pool"),)),
    ]

    [finding] = apply(throttled_client, moment(1.0, connections=connections))

    assert finding.words == (
        "client importer is throttled on 2 connections: the quota Produce of client importer:"
        " 67,914 of 20,000 B/s used; it is read again in 15 s"
    )
    assert (finding.subject, finding.link) == (
        Subject("client", "importer"),
        Subject("connection", "b"),
    )


def test_client_without_an_id_is_called_by_its_host() -> None:
    [finding] = apply(throttled_client, moment(1.0, connections=[connection("", waits=(QUOTA,))]))

    assert finding.title == "client 127.0.0.1 is throttled"
