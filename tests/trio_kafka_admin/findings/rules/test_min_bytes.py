"""Fetches that wait for more bytes than there are, for long."""

from typing import Any

import pytest

from tests.trio_kafka_admin.findings.kit import apply, moment, request, wait
from trio_kafka.introspect.facts.requests import RequestFacts
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.rules.min_bytes import waiting_fetch


def fetch(**more: Any) -> RequestFacts:
    usual = {"needs": 100_000, "has": 12, "unit": "bytes", "age_s": 3.0, "left_s": 27.0}
    words = "12 of 100,000 bytes from rare-0"
    why = wait("bytes", "partition", "rare-0", words, **{**usual, **more})
    return request("Fetch", "nightly-export", age_s=3.0, why=(why,))


def test_fetch_that_waits_for_min_bytes_says_needs_has_and_deadline() -> None:
    [finding] = apply(waiting_fetch, moment(1.0, requests=[fetch()]))

    assert finding.words == (
        "fetch of nightly-export has waited 3.0 s for min.bytes: 12 of 100,000 bytes from rare-0;"
        " it is answered in 27 s"
    )
    assert (finding.severity, finding.link) == ("waits", Subject("request", "c1/7"))


@pytest.mark.parametrize(
    "more",
    [
        {"needs": 1, "has": 0},  # it waits for a record
        {"has": 100_000},
        {"left_s": 0.4, "age_s": 0.1},
        {"age_s": 0.2},
        {"left_s": None},
        {"needs": None},
    ],
)
def test_fetch_that_waits_shortly_or_for_one_record_is_no_finding(more: dict[str, Any]) -> None:
    assert apply(waiting_fetch, moment(1.0, requests=[fetch(**more)])) == []


def test_other_requests_that_wait_are_no_finding() -> None:
    requests = [request("Fetch"), request("Produce", why=fetch().why)]

    assert apply(waiting_fetch, moment(1.0, requests=requests)) == []
