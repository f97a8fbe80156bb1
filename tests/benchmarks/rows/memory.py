"""Memory that a broker keeps after it has worked."""

import time

from attrs import evolve

from tests.benchmarks.bounds import at_most
from tests.benchmarks.figures import Figure, Figures
from tests.benchmarks.rows.raw import raw
from tests.benchmarks.rows.registry import Target, row
from tests.benchmarks.rows.small import metadata, produce_many, produce_small


@row("rss-after-load", at_most("RSS", must=150, aim=90))
def rss_after_load(target: Target) -> Figures:
    """A fresh broker, then large and small batches, fetches and metadata, a run of each; idle for a
    second, and its topics are gone.
    """
    with target.fresh() as fresh:
        started = fresh.broker.server.rss()
        raw(fresh, value_size=100, batch_size=900_000)
        raw(fresh, value_size=100, batch_size=16_000)
        brief = evolve(fresh, seconds=fresh.seconds / 2)
        produce_small(brief, connections=50, depth=8)
        produce_many(brief, partitions=100)
        metadata(brief, connections=50, depth=8)
        time.sleep(1)
        rss = fresh.broker.server.rss()
    return {"RSS": Figure(rss / 1e6, "MB"), "grown": Figure((rss - started) / 1e6, "MB")}
