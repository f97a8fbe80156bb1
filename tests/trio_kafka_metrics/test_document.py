from tests.project.tree import ROOT
from trio_kafka_metrics.document import page


def test_the_page_is_what_is_declared() -> None:
    written = (ROOT / "docs" / "reference" / "metrics.md").read_text()

    assert written == page(), "run python -m trio_kafka_metrics.document"
