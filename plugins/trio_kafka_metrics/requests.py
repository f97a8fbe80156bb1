"""Kafka's RequestMetrics: rate, versions, errors and time of each hop, by API. Collected on request
only: they cost each request some microseconds at its end.

Errors of all parts of a response are counted, also NONE: a Produce of three partitions counts
three. Without followers every Fetch is a consumer's, and is shown under both names.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from attrs import Factory, define

from trio_kafka.introspect.stamps import Stamps
from trio_kafka.plugin import ErrorCode
from trio_kafka.requests.parts import Parts
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka_metrics.metric_values import MetricValues, of_bean
from trio_kafka_metrics.names import PERCENTILES, QUANTILES
from trio_kafka_metrics.quantile_sketch import TURN_S, QuantileSketch

MOST_VERSIONS: Final = 64  # versions per API: rejected requests have one, too
OTHER: Final = -1
_MS: Final = 1e3
_BEAN: Final = "kafka.network:type=RequestMetrics,name={},request={{request}}"
_HISTOGRAMS: Final = {
    "RequestQueueTimeMs": "Time in the request queue, ms.",
    "LocalTimeMs": "Time in the handler, ms.",
    "RemoteTimeMs": "Time in purgatory, ms.",
    "ThrottleTimeMs": "Throttle time, ms.",
    "ResponseQueueTimeMs": "Time in the response queue, ms.",
    "ResponseSendTimeMs": "Time to send the response, ms.",
    "TotalTimeMs": "Time from the last byte of the request to that of the response, ms.",
    "RequestBytes": "Bytes.",
}
HISTOGRAMS: Final = tuple(
    of_bean(_BEAN.format(name), help_text, PERCENTILES) for name, help_text in _HISTOGRAMS.items()
)
BY_VERSION = of_bean(f"{_BEAN.format('RequestsPerSec')},version={{version}}", "Requests.", "Count")
BY_ERROR = of_bean(
    f"{_BEAN.format('ErrorsPerSec')},error={{error}}",
    "Error codes in responses, one per topic, partition or other part, also NONE.",
    "Count",
)
_ALSO: Final = {"Fetch": "FetchConsumer"}


def _sketches() -> tuple[QuantileSketch, ...]:
    return tuple(QuantileSketch() for _ in _HISTOGRAMS)


@define(eq=False)
class _OfApi:
    sketches: tuple[QuantileSketch, ...] = Factory(_sketches)
    versions: Counter[int] = Factory(Counter)
    errors: Counter[int] = Factory(Counter)


class RequestMetrics:
    """RequestMetrics of one broker: observes finished requests."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._apis: dict[int, _OfApi] = {}
        self._turns_at = 0.0

    def begin(self) -> None:
        """Count requests from now on."""
        self._parts.error_counts.set_active(True)
        for plane in self._parts.planes:
            plane.request_metrics.follow(self.note)

    def end(self) -> None:
        """Stop counting. Idempotent."""
        self._parts.error_counts.set_active(False)
        for plane in self._parts.planes:
            plane.request_metrics.unfollow(self.note)

    def note(self, stamps: Stamps) -> None:
        """Count a finished request."""
        key, version = stamps.key, stamps.version
        api = self._apis.get(key)
        if api is None:
            api = self._apis[key] = _OfApi()
        if stamps.sent > self._turns_at:
            self._turn(stamps.sent)
        if version not in api.versions and len(api.versions) >= MOST_VERSIONS:
            version = OTHER
        api.versions[version] += 1
        if stamps.response_bytes:  # no error code otherwise
            _add(api.errors, stamps)
        queue, local, remote, throttle, response_queue, send, total, size = api.sketches
        begun, handled, answered = stamps.begun, stamps.handled, stamps.answered
        sending, sent, received = stamps.sending, stamps.sent, stamps.received
        queue.add((begun - received) * _MS)
        local.add((handled - begun) * _MS)
        remote.add((answered - handled) * _MS)
        throttle.add(stamps.throttled_s * _MS)
        response_queue.add((sending - answered) * _MS)
        send.add((sent - sending) * _MS)
        total.add((sent - received) * _MS)
        size.add(stamps.request_bytes)

    def _turn(self, now: float) -> None:
        if self._turns_at:
            for api in self._apis.values():
                for sketch in api.sketches:
                    sketch.turn()
        self._turns_at = now + TURN_S

    def read(self, collected: MetricValues) -> Steps[None]:
        """Read the metrics, one API per step."""
        name_of = self._parts.planes[0].request_metrics.name_of
        for key, api in tuple(self._apis.items()):
            name = name_of(key)
            for shown in (name, _ALSO.get(name)):
                if shown is not None:
                    _read_api(shown, api, collected)
                    yield


def _add(errors: Counter[int], stamps: Stamps) -> None:
    said: Mapping[int, int] | None = getattr(stamps, "errors", None)
    if said is None:  # the request began before counting
        errors[stamps.error] += 1
        return
    for code, count in said.items():
        errors[code] += count


def _read_api(name: str, api: _OfApi, collected: MetricValues) -> None:
    if not collected.take(len(api.versions) + len(api.errors) + 7 * len(HISTOGRAMS)):
        return
    for metric, sketch in zip(HISTOGRAMS, api.sketches, strict=True):
        quantiles = sketch.quantiles(QUANTILES)
        collected.summary(metric, metric.with_values(name), sketch.count, quantiles=quantiles)
    for version, count in api.versions.items():
        collected.set(BY_VERSION, count, name, "other" if version == OTHER else str(version))
    for code, count in api.errors.items():
        collected.set(BY_ERROR, count, name, _error_name(code))


def _error_name(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return "other"
