"""Families as text in Prometheus' format or OpenMetrics.

prometheus_client, imported nowhere else, interprets a client's `Accept` and writes the head of each
family. The lines of samples are written here, because it takes five times as long for them: it
checks each character of each name. Its process metrics are read here, too. The first scrape imports
it, which takes 60 ms of CPU time.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Final

from prometheus_client import CollectorRegistry, Metric, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.utils import floatToGoString

from trio_kafka.introspect.metrics import Labels
from trio_kafka.plugin import Family, Kind
from trio_kafka.scheduling.chunked_work import Steps

_LINES: Final = 500  # samples per step: about 0.5 ms
_EOF: Final = b"# EOF\n"
_SUFFIX: Final = "_total"


class Form:
    """A text format: its `content_type` and its writer."""

    def __init__(self, accept: str) -> None:
        """Choose a format by the client's `Accept` header. Escaping schemes are ignored, because
        no name here needs escaping.
        """
        accepted = ",".join(_without_escaping(media_range) for media_range in accept.split(","))
        self._encode: Callable[[Any], bytes]
        self._encode, content_type = choose_encoder(accepted)
        self.content_type = content_type
        self.is_open = content_type.startswith("application/openmetrics-text")

    def write(self, families: Iterable[Family]) -> Steps[list[bytes]]:
        """Write the text, in pieces."""
        pieces: list[bytes] = []
        texts: dict[int, list[str]] = {}  # rendered labels, by their list: families share them
        for family in families:
            pieces.append(self._head(family))
            texts_of = texts.get(id(family.labels))
            if texts_of is None:
                texts_of = texts[id(family.labels)] = []
                labels = iter(family.labels)
                while some := list(islice(labels, _LINES)):
                    texts_of.extend(map(self._labels, some))
                    yield
            for first in range(0, len(family), _LINES):
                pieces.append(_lines(family, texts_of, first))
                yield
        if self.is_open:
            pieces.append(_EOF)
        return pieces

    def _head(self, family: Family) -> bytes:
        stem = family.name
        if family.kind is Kind.COUNTER:
            stem = stem.removesuffix(_SUFFIX)  # bytes of the samples alone
        head = self._encode(_SingleMetric(Metric(stem, family.help, family.kind)))
        return head.removesuffix(_EOF)

    def _labels(self, labels: Labels) -> str:
        if not labels:
            return ""
        # OpenMetrics requires the shortest form of a quantile, Strimzi's rules two digits.
        return (
            "{"
            + ",".join(f'{name}="{_escaped(self._short(name, text))}"' for name, text in labels)
            + "}"
        )

    def _short(self, name: str, text: str) -> str:
        return str(float(text)) if self.is_open and name == "quantile" else text


def _lines(family: Family, labels: Sequence[str], first: int) -> bytes:
    name, values, suffixes = family.name, family.values, family.suffixes
    last = min(first + _LINES, len(values))
    lines = [
        f"{name}{suffixes[at] if suffixes else ''}{labels[at]} {_number(values[at])}\n"
        for at in range(first, last)
    ]
    return "".join(lines).encode()


def _number(value: float) -> str:
    text: str = floatToGoString(value)  # type: ignore[no-untyped-call]
    return text


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _without_escaping(accepted: str) -> str:
    parts = accepted.split(";")
    return ";".join(
        parameter for parameter in parts if not parameter.strip().startswith("escaping")
    )


class _SingleMetric:
    """A registry of one metric."""

    def __init__(self, metric: Metric) -> None:
        self._metric = metric

    def collect(self) -> Iterable[Metric]:
        return (self._metric,)


def process_families() -> list[Family]:
    """Return the system's metrics of this process. Reads files: call it in a thread."""
    families = []
    for metric in ProcessCollector(registry=CollectorRegistry()).collect():
        is_counter = metric.type == "counter"
        family = Family(
            name=metric.name + _SUFFIX if is_counter else metric.name,
            kind=Kind.COUNTER if is_counter else Kind.GAUGE,
            help=metric.documentation,
        )
        for sample in metric.samples:
            family.add(sample.value)
        families.append(family)
    return families
