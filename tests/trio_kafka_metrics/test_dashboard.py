"""The dashboard asks for nothing that the broker does not tell."""

import json
import re

import pytest

from tests.project.tree import ROOT
from tests.trio_kafka_metrics.test_names import emitted
from trio_kafka.plugin import Kind
from trio_kafka_metrics.collection import catalogue
from trio_kafka_metrics.exposition import process_families

DASHBOARD = json.loads((ROOT / "docs" / "reference" / "grafana" / "trio-kafka.json").read_text())
SELECTOR = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\{([^}]*)\}")
EXPRESSIONS = [
    target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ())
]
_EVERYWHERE = {"instance"}  # Prometheus adds it


def labels_by_name() -> dict[str, set[str]]:
    """Labels by the name of samples."""
    result: dict[str, set[str]] = {}
    for metric in catalogue():
        names = emitted(metric) if metric.bean else {metric.name}
        if metric.kind is Kind.SUMMARY and not metric.bean:
            names = {f"{metric.name}_count", f"{metric.name}_sum"}
        for name in names:
            quantile = {"quantile"} if metric.kind is Kind.SUMMARY else set()
            result.setdefault(name, set()).update(metric.labels, quantile)
    for family in process_families():
        result[family.name] = set()
    return result


LABELS = labels_by_name()


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_every_dashboard_expression_uses_exported_metrics_and_labels(expression: str) -> None:
    used = SELECTOR.findall(expression)

    assert used
    for name, matchers in used:
        labels = set(re.findall(r'(\w+)(?:=~|!=|!~|=)"', matchers))
        assert name in LABELS
        assert labels - _EVERYWHERE <= LABELS[name]
        assert "instance" in labels
    bare = SELECTOR.sub("", expression)
    words = set(re.findall(r"[a-zA-Z_]\w+", re.sub(r"\([a-zA-Z, ]*\)|\$\w+", "", bare)))
    assert words <= {"sum", "by", "rate", "topk"}


def test_dashboard_panels_have_distinct_positions_and_a_unit() -> None:
    panels = DASHBOARD["panels"]
    places = [(row["gridPos"]["x"], row["gridPos"]["y"]) for row in panels]

    assert len(set(places)) == len(places)
    assert len({row["id"] for row in panels}) == len(panels)
    assert all(row["fieldConfig"]["defaults"]["unit"] for row in panels if row["type"] != "row")


def test_dashboard_variable_queries_an_exported_metric() -> None:
    (query,) = [row["query"] for row in DASHBOARD["templating"]["list"] if row["type"] == "query"]

    assert re.findall(r"label_values\((\w+), instance\)", query)[0] in LABELS
