from trio_kafka.plugin import Kind
from trio_kafka_metrics.metric_values import MetricValues, native, of_bean

GAUGE = native("depth", Kind.GAUGE, "How deep.", "place")
TIMES = native("time", Kind.SUMMARY, "How long.", "place")


def test_metric_takes_name_kind_and_labels_from_its_bean() -> None:
    metric = of_bean("kafka.log:type=Log,name=Size,topic={topic},partition={partition}", "Bytes.")

    assert (metric.name, metric.kind) == ("kafka_log_log_size", Kind.GAUGE)
    assert metric.with_values("t", "0") == (("topic", "t"), ("partition", "0"))


def test_samples_are_grouped_by_metric() -> None:
    collected = MetricValues(0)
    collected.set(GAUGE, 1, "a")
    collected.set(GAUGE, 2, "b")
    quantiles = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    collected.summary(TIMES, (("place", "a"),), 7, total=1.5, quantiles=quantiles)

    depth, times = collected.families.values()
    assert [value for _, _, value in depth.samples()] == [1, 2]
    result = [
        (name, dict(labels).get("quantile"), value) for name, labels, value in times.samples()
    ]
    assert result[0] == ("trio_kafka_time", "0.50", 0.1)
    assert result[-2:] == [
        ("trio_kafka_time_count", None, 7),
        ("trio_kafka_time_sum", None, 1.5),
    ]


def test_series_are_accepted_up_to_the_limit_and_counted_as_dropped_above() -> None:
    collected = MetricValues(10)

    assert [collected.take(4) for _ in range(4)] == [True, True, False, False]
    assert collected.take(2)
    assert collected.dropped == 8


def test_column_of_values_uses_the_shared_list_of_labels() -> None:
    collected, labels = MetricValues(10), []
    values = collected.column(GAUGE, labels)
    labels.append((("place", "a"),))
    values.append(3)

    (family,) = collected.families.values()
    assert list(family.samples()) == [("trio_kafka_depth", (("place", "a"),), 3)]
