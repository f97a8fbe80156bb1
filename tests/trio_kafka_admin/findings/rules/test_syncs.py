"""Syncs that take long."""

from tests.trio_kafka_admin.findings.kit import apply, directory, moment, request, sync, wait
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.rules.syncs import slow_sync

ON_DISK = wait("sync", "directory", "/data")


def test_slow_sync_names_the_directory_its_files_and_the_waiting_requests() -> None:
    slow = directory(syncs=(sync(0.1, "young-0"), sync(3.1, "a-0", "b-0", "c-0", "d-0")))
    requests = [request(client_id=name, why=(ON_DISK,)) for name in ("ledger", "ledger", "shop")]

    [finding] = apply(slow_sync, moment(1.0, directories=[slow], requests=requests))

    assert finding.words == (
        "the disk of /data is slow: a sync of a-0, b-0, c-0 and 1 more has taken 3.1 s so far;"
        " 3 requests wait for it (Produce)"
    )
    assert (finding.subject, finding.hurt, finding.severity) == (
        Subject("directory", "/data"),
        2,
        "wrong",
    )


def test_slow_sync_for_which_no_request_waits_is_to_watch() -> None:
    [finding] = apply(slow_sync, moment(1.0, directories=[directory(syncs=(sync(2.0),))]))

    assert (finding.severity, finding.more) == (
        "watch",
        ": a sync of a file has taken 2.0 s so far",
    )


def test_quick_syncs_are_no_finding() -> None:
    quick = directory(syncs=(sync(0.9, "a-0"),))

    assert apply(slow_sync, moment(1.0, directories=[quick])) == []
