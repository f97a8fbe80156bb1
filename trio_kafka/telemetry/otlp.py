"""Pushed metrics as OpenTelemetry's protobuf (`MetricsData`), and back.

The library is imported with the first push: 40 ms of CPU, which few clients and brokers need.
Histograms and summaries, which no client of Kafka pushes, are counted and left out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING, Final

from trio_kafka.attributes import frozen
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.install_hint import install_command
from trio_kafka.telemetry.metric import Point

if TYPE_CHECKING:
    from opentelemetry.proto.common.v1.common_pb2 import KeyValue
    from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric as MetricMessage
    from opentelemetry.proto.metrics.v1.metrics_pb2 import NumberDataPoint, ResourceMetrics

_NANOSECONDS: Final = 1_000_000_000
MOST_LABELS: Final = 32
"""Attributes of a point, and labels of a client. A push of a few bytes may unpack to a million."""
LONGEST_TEXTS: Final = 4096
"""Characters of them together, with the name of the point: each client may have 500 points."""
_SCALARS: Final = frozenset({"string_value", "bool_value", "int_value", "double_value"})


@frozen(kw_only=True)
class Push:
    """Decoded content of one push. resource: labels of the client, such as its group.

    skipped: points of a kind that is not read, or with too many or too long attributes.
    cut: True if there were points beyond the limit.
    """

    resource: Mapping[str, str]
    points: tuple[Point, ...]
    skipped: int = 0
    cut: bool = False


def is_installed() -> bool:
    """Return whether the protobuf classes can be imported."""
    return find_spec("opentelemetry") is not None and (
        find_spec("opentelemetry.proto.metrics.v1.metrics_pb2") is not None
    )


def missing_hint() -> str:
    """Return how to install the library."""
    return install_command("trio-kafka[telemetry]")


def encode(points: Iterable[Point], resource: Mapping[str, str]) -> bytes:
    """Return points as MetricsData, in one group of one client."""
    from opentelemetry.proto.common.v1 import common_pb2  # noqa: PLC0415 - see the module
    from opentelemetry.proto.metrics.v1 import metrics_pb2  # noqa: PLC0415 - see the module

    def attributes(values: Mapping[str, str]) -> list["KeyValue"]:
        return [
            common_pb2.KeyValue(key=key, value=common_pb2.AnyValue(string_value=value))
            for key, value in values.items()
        ]

    data = metrics_pb2.MetricsData()
    group = data.resource_metrics.add()
    group.resource.attributes.extend(attributes(resource))
    scope = group.scope_metrics.add()
    for point in points:
        number = metrics_pb2.NumberDataPoint(
            as_double=point.value,
            attributes=attributes(point.attributes),
            start_time_unix_nano=int(point.start_s * _NANOSECONDS),
            time_unix_nano=int(point.time_s * _NANOSECONDS),
        )
        metric = scope.metrics.add(name=point.name)
        if point.is_sum:
            metric.sum.is_monotonic = True
            metric.sum.aggregation_temporality = (
                metrics_pb2.AGGREGATION_TEMPORALITY_DELTA
                if point.is_delta
                else metrics_pb2.AGGREGATION_TEMPORALITY_CUMULATIVE
            )
            metric.sum.data_points.append(number)
        else:
            metric.gauge.data_points.append(number)
    return data.SerializeToString()


def decode(data: bytes, most: int) -> Push:
    """Return what a client has pushed. most: limit of points; no others are read.

    Raises KafkaError(INVALID_RECORD) for bytes that are no MetricsData.
    """
    from google.protobuf.message import DecodeError  # noqa: PLC0415 - see the module
    from opentelemetry.proto.metrics.v1 import metrics_pb2  # noqa: PLC0415 - see the module

    try:
        groups = metrics_pb2.MetricsData.FromString(data).resource_metrics
    except DecodeError as error:
        reason = f"{len(data)} bytes that are no MetricsData of OpenTelemetry: {error}"
        raise KafkaError(ErrorCode.INVALID_RECORD, reason) from error
    resource: dict[str, str] = {}
    points: list[Point] = []
    skipped = 0
    for metric in _metrics(groups, resource, most):
        kind = metric.WhichOneof("data")
        if kind not in {"gauge", "sum"}:
            skipped += 1
        else:
            for point in islice(_points(metric, is_sum=kind == "sum"), most + 1 - len(points)):
                if point is None:
                    skipped += 1
                else:
                    points.append(point)
        if len(points) + skipped > most:
            break
    return Push(
        resource=resource,
        points=tuple(points[:most]),
        skipped=skipped,
        cut=len(points) + skipped > most,
    )


def _metrics(
    groups: Iterable["ResourceMetrics"], resource: dict[str, str], most: int
) -> Iterator["MetricMessage"]:
    """Yield metrics; note the labels of the client in `resource`. most: groups and scopes."""
    visited = 0
    for group in groups:
        if not resource:
            resource.update(_texts(group.resource.attributes) or {})
        for scope in group.scope_metrics:
            yield from scope.metrics
            visited += 1
            if visited > most:
                return
        visited += 1
        if visited > most:
            return


def _points(metric: "MetricMessage", *, is_sum: bool) -> Iterator[Point | None]:
    """Yield the points; None in place of one with too many or too long attributes."""
    is_delta = is_sum and metric.sum.aggregation_temporality == 1  # ..._DELTA
    name = metric.name
    for point in metric.sum.data_points if is_sum else metric.gauge.data_points:
        attributes = _texts(point.attributes, LONGEST_TEXTS - len(name))
        if attributes is None:
            yield None
            continue
        yield Point(
            name=name,
            value=_number(point),
            attributes=attributes,
            time_s=point.time_unix_nano / _NANOSECONDS,
            start_s=point.start_time_unix_nano / _NANOSECONDS,
            is_sum=is_sum,
            is_delta=is_delta,
        )


def _number(point: "NumberDataPoint") -> float:
    return float(point.as_int) if point.WhichOneof("value") == "as_int" else point.as_double


def _texts(attributes: Sequence["KeyValue"], longest: int = LONGEST_TEXTS) -> dict[str, str] | None:
    """Return attributes as texts; None: they are too many or too long. Lists become empty."""
    if len(attributes) > MOST_LABELS:
        return None
    texts = {}
    for attribute in attributes:
        kind = attribute.value.WhichOneof("value")
        text = str(getattr(attribute.value, kind)) if kind in _SCALARS else ""
        longest -= len(attribute.key) + len(text)
        texts[attribute.key] = text
    return None if longest < 0 else texts
