"""Pushed metrics as OpenTelemetry's protobuf, and what is no such thing."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.telemetry import otlp
from trio_kafka.telemetry.metric import Point

TEXTS = st.text(max_size=20)
TIMES = st.integers(0, 4_000_000_000).map(float)
GAUGES = st.builds(
    Point,
    name=TEXTS,
    value=st.floats(allow_nan=False),
    attributes=st.dictionaries(TEXTS, TEXTS, max_size=3),
    time_s=TIMES,
    start_s=TIMES,
)
SUMS = st.builds(
    Point,
    name=TEXTS,
    value=st.floats(allow_nan=False),
    attributes=st.dictionaries(TEXTS, TEXTS, max_size=3),
    time_s=TIMES,
    start_s=TIMES,
    is_sum=st.just(True),
    is_delta=st.booleans(),
)


@given(st.lists(GAUGES | SUMS, max_size=5), st.dictionaries(TEXTS, TEXTS, max_size=3))
def test_push_says_after_its_way_what_it_said_before(
    points: list[Point], labels: dict[str, str]
) -> None:
    push = otlp.decode(otlp.encode(points, labels), most=100)

    assert (push.points, push.resource, push.skipped, push.cut) == (tuple(points), labels, 0, False)


def test_points_beyond_the_limit_are_left_out() -> None:
    points = [Point(name=str(n), value=n, attributes={}, time_s=1.0) for n in range(5)]

    push = otlp.decode(otlp.encode(points, {}), most=3)

    assert ([point.name for point in push.points], push.cut) == (["0", "1", "2"], True)


@given(st.binary(max_size=200))
def test_bytes_that_are_no_push_are_a_kafka_error_or_a_push(data: bytes) -> None:
    with suppress(KafkaError):
        assert len(otlp.decode(data, most=10).points) <= 10


def test_bytes_that_end_in_the_middle_are_named() -> None:
    data = otlp.encode([Point(name="n", value=1.0, attributes={}, time_s=1.0)], {})

    with pytest.raises(KafkaError, match="no MetricsData of OpenTelemetry") as caught:
        otlp.decode(data[:-1], most=10)

    assert caught.value.code is ErrorCode.INVALID_RECORD


def test_histogram_is_counted_and_left_out() -> None:
    from opentelemetry.proto.metrics.v1 import metrics_pb2

    data = metrics_pb2.MetricsData()
    metric = data.resource_metrics.add().scope_metrics.add().metrics.add(name="h")
    metric.histogram.data_points.add(count=1)

    push = otlp.decode(data.SerializeToString(), most=10)

    assert (push.points, push.skipped) == ((), 1)


def gauge(name: str = "n", **attributes: str) -> Point:
    return Point(name=name, value=1.0, attributes=attributes, time_s=1.0)


@pytest.mark.parametrize(
    "large",
    [
        gauge(a="x" * otlp.LONGEST_TEXTS),
        gauge("x" * (otlp.LONGEST_TEXTS + 1)),
        gauge("x" * 2000, a="x" * 1000, b="x" * 1100),
        gauge(**{f"a{number}": "x" for number in range(otlp.MOST_LABELS + 1)}),
    ],
)
def test_point_with_long_texts_is_counted_and_left_out(large: Point) -> None:
    longest = gauge("x" * 2000, a="x" * (otlp.LONGEST_TEXTS - 2001))

    push = otlp.decode(otlp.encode([large, longest], {}), most=10)

    assert (push.points, push.skipped) == ((longest,), 1)


@pytest.mark.parametrize(
    "labels",
    [
        {"a": "x" * otlp.LONGEST_TEXTS},
        {f"a{number}": "x" for number in range(otlp.MOST_LABELS + 1)},
    ],
)
def test_long_labels_of_a_client_are_not_kept(labels: dict[str, str]) -> None:
    push = otlp.decode(otlp.encode([gauge()], labels), most=10)

    assert (push.points, push.resource) == ((gauge(),), {})


@pytest.mark.parametrize("empty", [b"\n\0", b"\n\2\x12\0"])
def test_metrics_behind_many_empty_groups_are_not_read(empty: bytes) -> None:
    push = otlp.encode([gauge()], {})

    assert len(otlp.decode(empty * 10 + push, most=100).points) == 1
    assert otlp.decode(empty * 1000 + push, most=100).points == ()


def test_lists_in_attributes_are_not_written_out() -> None:
    from opentelemetry.proto.metrics.v1 import metrics_pb2

    data = metrics_pb2.MetricsData()
    group = data.resource_metrics.add()
    attribute = group.resource.attributes.add(key="list")
    for _ in range(100_000):
        attribute.value.array_value.values.add()

    assert otlp.decode(data.SerializeToString(), most=10).resource == {"list": ""}


def test_missing_library_is_named_with_the_command_that_installs_it() -> None:
    assert otlp.is_installed()
    assert "[telemetry]" in otlp.missing_hint()
