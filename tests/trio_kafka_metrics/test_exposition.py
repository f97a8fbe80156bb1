"""Written metrics are read unchanged by prometheus_client's own parsers."""

import subprocess
import sys

import pytest
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as open_families,
)
from prometheus_client.parser import text_string_to_metric_families as plain_families

from tests.trio_kafka_metrics.kit import OPEN
from trio_kafka.plugin import Family, Kind
from trio_kafka.scheduling.chunked_work import whole
from trio_kafka_metrics.exposition import Form, process_families

PROMETHEUS = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
    "text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)
HOSTILE = 'a\\b"c\nd} 1\nx{'


def families() -> list[Family]:
    counter = Family(name="requests_total", kind=Kind.COUNTER, help='What "came"\nin \\ all.')
    counter.add(3, (("topic", HOSTILE),))
    counter.add(2.5)
    gauge = Family(name="depth", kind=Kind.GAUGE, help="How deep.")
    gauge.add(True, (("b", "2"), ("a", "1")))
    gauge.add(float("nan"))
    times = Family(name="time", kind=Kind.SUMMARY, help="How long.")
    times.add(0.25, (("api", "x"), ("quantile", "0.50")))
    times.add(7, (("api", "x"),), "_count")
    return [counter, gauge, times]


def text(form: Form, metric_families: list[Family]) -> str:
    return b"".join(whole(form.write(metric_families))).decode()


@pytest.mark.parametrize(("accept", "parse"), [("", plain_families), (OPEN, open_families)])
def test_prometheus_parser_reads_the_exported_values(accept: str, parse) -> None:
    result = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in parse(text(Form(accept), families()))
        for sample in family.samples
    }

    assert result[("requests_total", ("topic", HOSTILE))] == 3
    assert result[("requests_total",)] == 2.5
    assert result[("depth", ("a", "1"), ("b", "2"))] == 1
    assert result[("time_count", ("api", "x"))] == 7
    quantile = "0.5" if accept else "0.50"
    assert result[("time", ("api", "x"), ("quantile", quantile))] == 0.25


@pytest.mark.parametrize("accept", ["", OPEN])
def test_each_metric_family_has_one_type_and_one_help_line(accept: str) -> None:
    written = text(Form(accept), families())

    assert written.count("# TYPE") == written.count("# HELP") == 3
    assert written.count("# EOF") == (1 if accept else 0)
    stem = "requests" if accept else "requests_total"
    assert f"# TYPE {stem} counter\n" in written


def test_prometheus_gets_openmetrics_and_other_clients_get_plain_text() -> None:
    assert Form(PROMETHEUS).content_type.startswith("application/openmetrics-text; version=1.0.0")
    assert "allow-utf-8" not in Form(PROMETHEUS).content_type
    assert Form("text/html").content_type.startswith("text/plain; version=0.0.4")
    assert Form("").content_type == Form("*/*").content_type


def test_families_with_shared_labels_are_each_written_with_the_labels() -> None:
    first = Family(name="one", kind=Kind.GAUGE, help="")
    second = Family(name="two", kind=Kind.GAUGE, help="", labels=first.labels)
    first.add(1, (("at", "x"),))
    second.values.append(2)

    written = text(Form(""), [first, second])

    assert 'one{at="x"} 1.0\n' in written
    assert 'two{at="x"} 2.0\n' in written


def test_many_samples_are_written_in_steps() -> None:
    family = Family(name="one", kind=Kind.GAUGE, help="")
    for number in range(1250):
        family.add(number, (("at", f"{number}"),))

    steps = Form("").write([family])
    paused = 0
    try:
        while True:
            next(steps)
            paused += 1
    except StopIteration as end:
        written = b"".join(end.value).decode()

    assert paused == 3 + 3
    assert [line for line in written.splitlines() if line.startswith("one")][-1] == (
        'one{at="1249"} 1249.0'
    )


def test_process_memory_and_cpu_time_are_exported() -> None:
    result = {family.name: family for family in process_families()}

    assert result["process_cpu_seconds_total"].kind is Kind.COUNTER
    assert result["process_resident_memory_bytes"].values[0] > 1 << 20


def test_metrics_plugin_does_not_import_prometheus_client() -> None:
    code = (
        "import sys, trio_kafka_metrics.plugin;"
        "print([one for one in sys.modules if one.startswith('prometheus_client')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
