"""Dots of handlers."""

from tests.trio_kafka_admin.findings.kit import request, wait
from trio_kafka_admin.landing.handler_dots import handler_row

INSIDE = wait("plugin", "plugin", "enricher", "around of plugin enricher to return")


def test_taken_handlers_lead_to_their_requests_and_others_are_free() -> None:
    quick = request("Fetch", stage="handler", age_s=0.01)
    held = request("Metadata", "web", age_s=3.0, why=(INSIDE,))

    row = handler_row(3, 5, [request(stage="queued"), quick, held])

    assert [dot.state for dot in row.dots] == ["wrong", "taken", "taken", "free", "free"]
    assert row.dots[0].words == "Metadata of web for 3.0 s, around of plugin enricher to return"
    assert row.dots[1].words == "Fetch of shop for 0.0 s"
    assert [dot.subject is None for dot in row.dots] == [False, False, True, True, True]
    assert len({dot.key for dot in row.dots}) == 5
