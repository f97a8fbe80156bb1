"""Points of a push, as totals and as what was added."""

from math import nan

from trio_kafka.clients.telemetry.payload import Deltas
from trio_kafka.telemetry.metric import Metric, MetricName

NAME = MetricName("record-send-total", "producer-metrics", (("client-id", "me"),))
RATE = MetricName("record-send-rate", "producer-metrics", (("client-id", "me"),))


def total(value: float) -> list[Metric]:
    return [Metric(name=NAME, value=value, is_total=True)]


def test_deltas_are_what_was_added_since_the_last_push() -> None:
    deltas = Deltas(1000.0)

    (first,) = deltas.points(total(5), ["*"], 1060.0, is_delta=True)
    (second,) = deltas.points(total(8), ["*"], 1120.0, is_delta=True)

    assert (first.value, first.start_s, first.time_s) == (5, 1000.0, 1060.0)
    assert (second.value, second.start_s, second.time_s) == (3, 1060.0, 1120.0)
    assert (second.is_sum, second.is_delta) == (True, True)


def test_deltas_begin_anew_after_a_change() -> None:
    deltas = Deltas(1000.0)
    deltas.points(total(5), ["*"], 1060.0, is_delta=True)
    deltas.clear()

    (point,) = deltas.points(total(8), ["*"], 1120.0, is_delta=True)

    assert (point.value, point.start_s) == (8, 1000.0)


def test_totals_are_counted_from_the_start_of_the_client() -> None:
    deltas = Deltas(1000.0)
    deltas.points(total(5), ["*"], 1060.0, is_delta=False)

    (point,) = deltas.points(total(8), ["*"], 1120.0, is_delta=False)

    assert (point.value, point.start_s, point.is_delta) == (8, 1000.0, False)


def test_metric_without_a_value_or_a_request_stays_out() -> None:
    deltas = Deltas(0.0)
    metrics = [*total(1), Metric(name=RATE, value=nan)]

    assert deltas.points(metrics, ["org.apache.kafka.consumer"], 1.0, is_delta=True) == []
    (point,) = deltas.points(metrics, ["org.apache.kafka.producer"], 1.0, is_delta=True)
    assert (point.name, point.value) == ("org.apache.kafka.producer.record.send.total", 1)
    assert point.attributes == {}
