"""TopicMetrics metrics, by topic and in total."""

from typing import Final

from trio_kafka.replication.topic_metrics import MetricsByTopic, TopicMetrics
from trio_kafka.requests.parts import Parts
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka_metrics.metric_values import MetricValues, of_bean

_TOPIC: Final = ",topic={topic}"
_A_STEP: Final = 64  # topics: about 0.4 ms
# By name without `PerSec`: help text and the counter read.
_MEANINGS: Final = {
    "BytesIn": ("Bytes of appended batches.", "bytes_in"),
    "BytesOut": ("Bytes of batches sent to consumers.", "bytes_out"),
    "MessagesIn": ("Appended records.", "records_in"),
    "TotalProduceRequests": ("Produce requests, counted per partition.", "produces"),
    "FailedProduceRequests": (
        "Failed produces that were not the client's fault.",
        "failed_produces",
    ),
    "TotalFetchRequests": ("Fetch requests, counted per partition.", "fetches"),
    "FailedFetchRequests": ("Failed fetches that were not the client's fault.", "failed_fetches"),
}


def _bean(name: str, labels: str = "") -> str:
    return f"kafka.server:type=BrokerTopicMetrics,name={name}PerSec{labels}"


TOTALS: Final = tuple(
    of_bean(_bean(name), help_text, "Count") for name, (help_text, _) in _MEANINGS.items()
)
BY_TOPIC: Final = tuple(
    of_bean(_bean(name, _TOPIC), help_text, "Count") for name, (help_text, _) in _MEANINGS.items()
)
_COUNTERS: Final = tuple(counter for _, counter in _MEANINGS.values())
CONVERSIONS: Final = tuple(
    of_bean(
        _bean(f"{api}MessageConversions"),
        "Batches of old formats; 0: they are not supported.",
        "Count",
    )
    for api in ("Produce", "Fetch")
)


def read_traffic(parts: Parts, collected: MetricValues) -> Steps[None]:
    """Read the metrics, in steps of some topics. Totals have the topics' names, without a label."""
    traffic = parts[MetricsByTopic]
    total = yield from traffic.total()
    for metric, value in zip(TOTALS, _values(total), strict=True):
        collected.set(metric, value)
    for metric in CONVERSIONS:
        collected.set(metric, 0)
    for number, (topic, counts) in enumerate(traffic, 1):
        if collected.take(len(BY_TOPIC)):
            for metric, value in zip(BY_TOPIC, _values(counts), strict=True):
                collected.set(metric, value, topic)
        if not number % _A_STEP:
            yield
    yield


def _values(traffic: TopicMetrics) -> list[int]:
    return [getattr(traffic, counter) for counter in _COUNTERS]
