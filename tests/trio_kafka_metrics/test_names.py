"""The names are those of the rules; a table of Kafka's beans goes through both."""

import re

import pytest

from tests.lanes import together
from tests.trio_kafka_metrics.kit import BEANS
from tests.trio_kafka_metrics.rules import ATTRIBUTES, samples_of
from trio_kafka.plugin import Kind
from trio_kafka_metrics.collection import catalogue
from trio_kafka_metrics.document import ABSENT
from trio_kafka_metrics.metric_values import Metric
from trio_kafka_metrics.names import PERCENTILES, UnnamedError, exposed, quantile_label

SAMPLES = [sample for bean, kind in BEANS for sample in samples_of(bean, kind)]
THEIRS = [metric for metric in catalogue() if metric.bean]


def emitted(metric: Metric) -> set[str]:
    """Names of its samples."""
    if metric.kind is not Kind.SUMMARY:
        return {metric.name}
    return {f"{metric.name}_count"} | ({metric.name} if metric.attribute == PERCENTILES else set())


def shape(bean: str) -> str:
    return re.sub(r"=[^,=]*$|=\{[^}]*\}", "=", re.sub(r"(?<=delayedOperation=)\w+", "", bean))


def is_known(bean: str) -> bool:
    """Kafka has it; beans of a topic it makes when they are first needed."""
    shapes = {shape(kafka_bean) for kafka_bean, _ in BEANS}
    return shape(bean) in shapes or shape(bean.removesuffix(",topic={topic}")) in shapes


@together(THEIRS, label=lambda metric: metric.name)
def test_name_and_labels_of_each_metric_follow_the_rules_for_its_bean(metric: Metric) -> None:
    attributes = ATTRIBUTES["histogram"] if metric.attribute == PERCENTILES else [metric.attribute]
    samples = list(samples_of(metric.bean, list(attributes)))

    assert is_known(metric.bean)
    assert emitted(metric) == {sample.name for sample in samples}
    assert {sample.labels - {"quantile"} for sample in samples} == {frozenset(metric.labels)}


def test_every_metric_of_kafka_is_exported_or_listed_as_absent() -> None:
    ours = {name for metric in THEIRS for name in emitted(metric)}
    names = {sample.name for sample in SAMPLES}

    missing = {name for name in names - ours if not name.startswith(tuple(ABSENT))}
    assert missing == set()
    assert [prefix for prefix in ABSENT if any(name.startswith(prefix) for name in ours)] == []
    assert [prefix for prefix in ABSENT if not any(name.startswith(prefix) for name in names)] == []


def test_names_of_native_metrics_do_not_clash_with_names_of_kafka() -> None:
    ours = [metric.name for metric in catalogue() if not metric.bean]

    # Those of groups are the names of the exporter that dashboards know.
    assert all(name.startswith(("trio_kafka_", "kafka_consumergroup_")) for name in ours)
    assert not {sample.name for sample in SAMPLES} & set(ours)
    assert len(set(ours)) == len(ours)


def test_rules_spell_out_percent_and_export_rates_as_counters() -> None:
    pool = "kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent"
    topic = "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec,topic={topic}"

    assert exposed(pool, "MeanRate").name == (
        "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent"
    )
    result = exposed(topic, "Count")
    assert (result.name, result.kind) == (
        "kafka_server_brokertopicmetrics_bytesin_total",
        Kind.COUNTER,
    )
    assert result.labels == ("topic",)


@pytest.mark.parametrize(
    ("bean", "attribute"),
    [
        ("kafka.server:type=Produce", "queue-size"),
        ("kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec", "OneMinuteRate"),
    ],
)
def test_bean_attribute_that_matches_no_rule_has_no_name(bean: str, attribute: str) -> None:
    with pytest.raises(UnnamedError):
        exposed(bean, attribute)
    assert list(samples_of(bean, [attribute])) == []


def test_quantile_labels_have_at_least_two_decimals() -> None:
    assert [quantile_label(quantile) for quantile in (0.5, 0.75, 0.99, 0.999)] == [
        *("0.50", "0.75", "0.99", "0.999")
    ]
