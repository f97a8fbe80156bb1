"""Findings as troubles to copy."""

from typing import Any

import pytest

from tests.trio_kafka_admin.findings.kit import connection, moment, node, request, transaction
from trio_kafka.introspect.facts.storage import DirectoryFacts, SyncFacts
from trio_kafka.introspect.waits import Subject, Wait
from trio_kafka_admin.copying.from_findings import trouble_in
from trio_kafka_admin.copying.trouble import Trouble
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.moments import Moment


def finding(kind: str, subject: Subject, **more: Any) -> Finding:
    return Finding(kind=kind, title="", subject=subject, severity="wrong", **more)


FOR_BYTES = Wait(
    cause="bytes",
    words="",
    on=Subject("partition", "rare-3"),
    needs=100_000,
    has=12,
    age_s=4.0,
    left_s=26.0,
)
FOR_QUOTA = Wait(cause="quota", words="", on=Subject("quota", "importer"), left_s=7.5)
DIRECTORY = DirectoryFacts(
    path="/data",
    error="",
    free_bytes=None,
    total_bytes=None,
    used_share=None,
    logs=1,
    log_bytes=None,
    syncs=(SyncFacts(directory="/data", files=("ledger-2",), age_s=3.1),),
    waiting=0,
)


@pytest.mark.parametrize(
    ("problem", "facts", "trouble"),
    [
        pytest.param(
            finding("waiting-fetch", Subject("client", "export")),
            moment(requests=[request("Fetch", "export", why=(FOR_BYTES,))]),
            Trouble(
                kind="waiting-fetch", client_id="export", topic="rare", seconds=30.0, amount=100_000
            ),
            id="fetch",
        ),
        pytest.param(
            finding("throttled-client", Subject("client", "importer")),
            moment(connections=[connection("other"), connection("importer", waits=(FOR_QUOTA,))]),
            Trouble(kind="throttled-client", client_id="importer", seconds=7.5),
            id="quota",
        ),
        pytest.param(
            finding("slow-sync", Subject("directory", "/data")),
            moment(directories=[DIRECTORY]),
            Trouble(kind="slow-request", api="Produce", topic="ledger", partition=2, seconds=3.1),
            id="sync",
        ),
        pytest.param(
            finding("fault-rule", Subject("fault rule", "x"), node="broker-1/plugins/faults/x"),
            moment(10.0, node("plugins/faults/x", "part", rule='{"drop": true}')),
            Trouble(kind="fault-rule", rule='{"drop": true}'),
            id="fault rule",
        ),
        pytest.param(
            finding("slow-api", Subject("task", "x"), node="broker-1/requests/Metadata"),
            moment(10.0, node("requests/Metadata", "part", count=4, total_ms=800.0)),
            Trouble(kind="slow-request", api="Metadata", seconds=0.2),
            id="slow API",
        ),
        pytest.param(
            finding("blocked-loop", Subject("plugin", "p"), age_s=241.5, ended_ago_s=240.0),
            moment(),
            Trouble(kind="blocked-loop", seconds=1.5),
            id="blocked loop",
        ),
        pytest.param(
            finding("slow-plugin", Subject("plugin", "p"), age_s=3.0),
            moment(requests=[request("Fetch", "app", stage="handler")]),
            Trouble(kind="slow-handler", api="Fetch", client_id="app", seconds=3.0),
            id="slow plugin",
        ),
        pytest.param(
            finding("long-transaction", Subject("transaction", "payments"), age_s=720.0),
            moment(transactions=[transaction("other"), transaction(partitions={"t": (3, 1)})]),
            Trouble(
                kind="long-transaction",
                transactional_id="payments",
                topic="t",
                partition=1,
                seconds=720.0,
            ),
            id="long transaction",
        ),
        pytest.param(
            finding("unmarked-transaction", Subject("transaction", "payments"), age_s=12.0),
            moment(transactions=[transaction(state="PrepareCommit", partitions={})]),
            Trouble(kind="unmarked-transaction", transactional_id="payments", seconds=12.0),
            id="unmarked transaction",
        ),
        pytest.param(
            finding("hanging-transaction", Subject("partition", "pay-ments-2"), age_s=90.0),
            moment(),
            Trouble(kind="hanging-transaction", topic="pay-ments", partition=2, seconds=90.0),
            id="hanging transaction",
        ),
        pytest.param(
            finding("long-transaction", Subject("transaction", "gone")),
            moment(transactions=[transaction()]),
            None,
            id="transaction that is gone",
        ),
        pytest.param(
            finding("lost-directory", Subject("directory", "/data")), moment(), None, id="no test"
        ),
        pytest.param(
            finding("lag", Subject("partition", "t-1"), link=Subject("group", "gone")),
            moment(),
            None,
            id="group that is gone",
        ),
    ],
)
def test_a_finding_is_copied_with_the_names_and_times_of_its_moment(
    problem: Finding, facts: Moment, trouble: Trouble | None
) -> None:
    assert trouble_in(problem, facts) == trouble
