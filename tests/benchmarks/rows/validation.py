"""Batches whose records the broker checks one by one, beside batches whose header it checks.

Apache Kafka has no such setting: it checks every record.
"""

from contextlib import nullcontext

from tests.benchmarks.bounds import times_other
from tests.benchmarks.figures import Figures
from tests.benchmarks.rows.raw import make_batch, produce
from tests.benchmarks.rows.registry import Target, row

SETTING = "trio.record.validation"
SIZES = {"16 kB": 16_000, "900 kB": 900_000}  # in the loop at once, and in the queue


@row("validation-header", times_other("16 kB, server CPU", must=0.9, aim=0.6), setting="header")
@row("validation-full", setting="full")
def validation(target: Target, setting: str) -> Figures:
    """Records of 100 bytes, in small and in large batches."""
    has_it = target.broker.name != "apache-kafka" and setting != "header"
    figures: Figures = {}
    with target.fresh(f"{SETTING}={setting}") if has_it else nullcontext(target) as asked:
        for name, size in SIZES.items():
            batch, _ = make_batch(100, size)
            with asked.topic(much=size) as topic:
                figures = {**figures, **produce(asked, topic, batch, name)}
    return figures
