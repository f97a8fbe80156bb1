"""Requests and plugins as the messages describe them: hops, bounds."""

from trio_kafka.introspect.stamps import Stamps
from trio_kafka.protocol.messages.k10010_describe_requests import NOT_YET
from trio_kafka.requests.descriptions import LONGEST, LONGEST_ERROR, list_plugin, make_life
from trio_kafka.requests.inspection import InspectedRequest
from trio_kafka.requests.plugins import PluginStatus


def inspected(stamps: Stamps, *, stage: str = "", now: float = 20.0) -> InspectedRequest:
    return InspectedRequest(
        plane="data", api="Echo", stamps=stamps, client_id="c" * 2 * LONGEST, now=now, stage=stage
    )


def test_finished_request_has_the_time_of_each_hop() -> None:
    stamps = Stamps(
        received=10.0, begun=10.5, handled=11.5, answered=13.5, sending=14.0, sent=14.25
    )
    life = make_life(inspected(stamps))

    hops = (life.queue_us, life.local_us, life.remote_us, life.response_queue_us, life.send_us)
    assert hops == (500_000, 1_000_000, 2_000_000, 500_000, 250_000)
    assert (life.total_us, life.age_us, life.ended_us) == (4_250_000, 10_000_000, 5_750_000)
    assert len(life.client_id) == LONGEST


def test_hops_of_a_request_in_flight_count_up_to_now_or_have_not_begun() -> None:
    queued = make_life(inspected(Stamps(received=10.0, begun=12.0), stage="queued"))
    parked = make_life(inspected(Stamps(received=10.0, begun=12.0, handled=13.0), stage="parked"))

    assert (queued.queue_us, queued.local_us) == (10_000_000, NOT_YET)
    assert (parked.queue_us, parked.local_us, parked.remote_us) == (2_000_000, 1_000_000, 7_000_000)
    assert (parked.response_queue_us, parked.ended_us) == (NOT_YET, NOT_YET)


def test_listed_plugin_has_the_values_of_its_status_and_a_bounded_error() -> None:
    status = PluginStatus(
        name="echo",
        doc="Echo.",
        state="failed",
        since=1.5,
        enabled=True,
        policy="ignore",
        order=100,
        generation=2,
        past=1,
        failures=3,
        failed_requests=4,
        error="x" * 2 * LONGEST_ERROR,
        contributions=("api:Echo",),
        settings={"plugin.echo.word": "a"},
    )

    plugin = list_plugin(status)

    numbers = (plugin.order, plugin.generation, plugin.past, plugin.failures)
    assert (*numbers, plugin.failed_requests, plugin.since_ms) == (100, 2, 1, 3, 4, 1500)
    assert (plugin.name, plugin.state, plugin.policy) == ("echo", "failed", "ignore")
    assert plugin.error == "x" * LONGEST_ERROR
    assert [(setting.name, setting.value) for setting in plugin.settings] == [
        ("plugin.echo.word", "a")
    ]
