from tests.project.tree import ROOT
from trio_kafka_metrics.document import page


def test_metrics_page_matches_the_declared_metrics() -> None:
    written = (ROOT / "docs" / "reference" / "metrics.md").read_text()

    assert written == page(), "run python -m trio_kafka_metrics.document"
