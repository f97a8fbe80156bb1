"""Interceptors of plugins that are slow, and requests that stay in them."""

from tests.trio_kafka_admin.findings.kit import apply, handlers, moment, node, request, wait
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.rules.slow_plugins import slow_plugin

AROUND = "interceptors/enricher around ProduceRequest"
INSIDE = wait("plugin", "plugin", "enricher", "around of plugin enricher to return")


def test_slow_interceptor_names_its_plugin_and_that_it_has_all_handlers() -> None:
    slow = node(AROUND, "part", owner="enricher", calls=3, ms=9003.0)
    served = [request(client_id=f"c{n}", why=(INSIDE,), age_s=2.0) for n in range(2)]

    [finding] = apply(slow_plugin, moment(1.0, slow, handlers(2, 2), requests=served), moment(0.0))

    assert finding.words == (
        "plugin enricher takes 3,001 ms of each request, around ProduceRequest;"
        " all 2 handlers of plane data are in it"
    )
    assert (finding.subject, finding.hurt) == (Subject("plugin", "enricher"), 2)
    assert finding.severity == "wrong"


def test_interceptor_that_never_returns_is_found_by_the_requests_in_it() -> None:
    served = [request(stage="handler", why=(INSIDE,), age_s=2.0)]

    [finding] = apply(slow_plugin, moment(1.0, handlers(1), requests=served), moment(0.0))

    assert finding.words == (
        "plugin enricher holds 1 request, for 2.0 s at most, which wait for around of plugin"
        " enricher to return"
    )
    assert finding.severity == "watch"


def test_quick_interceptors_and_those_of_the_faults_are_no_finding() -> None:
    quick = node(AROUND, "part", owner="enricher", calls=3, ms=297.0)
    faults = node("interceptors/faults around", "part", owner="faults", calls=1, ms=5000.0)

    assert apply(slow_plugin, moment(1.0, quick, faults), moment(0.0)) == []
