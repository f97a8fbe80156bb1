"""Parts of the landing page, built by hand."""

from typing import Any

from tests.trio_kafka_admin.kit import Element, read_html
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.markup import Html
from trio_kafka_admin.page import Place

PLACE = Place("/admin")


def finding(kind: str = "lag", subject: Subject | None = None, **more: Any) -> Finding:
    usual: dict[str, Any] = {"title": f"{kind} of something", "more": ": so much"}
    return Finding(
        kind=kind,
        subject=subject or Subject("group", "g"),
        **{"severity": "wrong", **usual, **more},
    )


def html(*pieces: Html) -> Element:
    return read_html("".join(pieces))
