"""Requests that have waited for long."""

from tests.trio_kafka_admin.findings.kit import apply, moment, request, wait
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.rules.long_waits import long_wait

CHAIN = (
    wait("sync", "partition", "ledger-0", "a sync of ledger-0 up to offset 1"),
    wait("sync", "directory", "/data", "a sync of /data has been under way for 6.0 s"),
)


def test_long_wait_names_the_oldest_client_and_the_whole_chain() -> None:
    requests = [
        request(client_id="young", age_s=5.5, why=CHAIN),
        request(client_id="old", age_s=8.0, why=CHAIN, correlation=9),
    ]

    [finding] = apply(long_wait, moment(1.0, requests=requests))

    assert finding.words == (
        "Produce requests that have waited for more than 5 s: 2; the oldest, of client old, for"
        " 8 s; they wait for a sync of ledger-0 up to offset 1, a sync of /data has been under way"
        " for 6.0 s"
    )
    assert finding.because == (Subject("partition", "ledger-0"), Subject("directory", "/data"))
    assert (finding.link, finding.hurt) == (Subject("request", "c1/9"), 2)


def test_requests_that_wait_for_different_things_are_different_findings() -> None:
    requests = [request(age_s=6.0, why=CHAIN), request(age_s=6.0, why=CHAIN[:1])]

    assert len(apply(long_wait, moment(1.0, requests=requests))) == 2


def test_requests_that_wait_on_purpose_or_shortly_are_no_long_waits() -> None:
    requests = [request(api, age_s=60.0) for api in ("Fetch", "JoinGroup", "SyncGroup")]

    assert apply(long_wait, moment(1.0, requests=[*requests, request(age_s=5.0)])) == []


def test_queued_request_comes_of_the_handlers_of_its_plane() -> None:
    [finding] = apply(long_wait, moment(1.0, requests=[request(stage="queued", age_s=6.0)]))

    assert finding.because == (Subject("limiter", "num.io.threads of plane data"),)
    assert finding.more.endswith("they wait for queued")
