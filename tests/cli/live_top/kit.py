"""Readings of a broker for the screen, made by hand."""

from trio_kafka.cli.live_top.documents import Finding, GroupLag, Headline, Lane, Overview, Stage
from trio_kafka.cli.live_top.reading import Reading
from trio_kafka.introspect.snapshots import NodeSnapshot, TreeSnapshot
from trio_kafka.protocol.messages.k10010_describe_requests import RequestLife


def life(
    api: str, *, client: str | None = "app", total_us: int = 1000, **more: object
) -> RequestLife:
    """A request that has ended, or is on its way."""
    request = RequestLife(api_name=api, client_id=client, peer="127.0.0.1:1", total_us=total_us)
    for name, value in more.items():
        setattr(request, name, value)
    return request


def group(name: str, *, lag: int, growth: float | None) -> GroupLag:
    return GroupLag(
        group_id=name,
        type="classic",
        state="Stable",
        members=1,
        lag=lag,
        growth_per_s=growth,
        catch_up_s=None,
    )


OVERVIEW = Overview(
    node_id=1,
    headline=Headline(sentence="2 clients, 1 is wrong", more="3 connections open"),
    findings=[Finding(severity="wrong", words="group a waits for member b")],
    lanes=[
        Lane(
            plane="data",
            stages=[
                Stage(title="Listener", count=2, unit="accepted", state="well"),
                Stage(title="Handlers", count=1, unit="of 8 busy", state="watch"),
            ],
        )
    ],
)


def reading(overview: Overview | None = OVERVIEW, *, missing: str = "") -> Reading:
    plane = ("broker-1", "plane data")
    fetch = {"count": 5, "total_ms": 10.0, "total_max_ms": 9.0}
    queue = {"depth": 2, "bound": 500, "high_water": 7, "items": 1}
    tree = TreeSnapshot(
        1.0,
        {
            (*plane, "requests", "Fetch"): NodeSnapshot("part", "Fetch", fetch),
            (*plane, "request-channel"): NodeSnapshot("channel", "request-channel", queue),
        },
    )
    return Reading(
        before=None,
        tree=tree,
        slowest=[life("Fetch", total_us=2000), life("Produce", client="shop", total_us=9000)],
        in_flight=[life("JoinGroup", age_us=5000, stage="parked", waits_for="member b")],
        overview=overview,
        groups=[group("calm", lag=900, growth=None), group("late", lag=5, growth=1.5)],
        missing=missing,
    )
