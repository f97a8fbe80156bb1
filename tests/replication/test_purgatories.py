"""A change of a replica wakes what waits for it, whatever the request."""

from tests.replication.kit import new_purgatories
from trio_kafka.purgatory import Delayed


def test_mark_wakes_the_operations_of_one_key_in_each_purgatory() -> None:
    purgatories = new_purgatories()
    lane: list[Delayed] = []
    all_of_them = purgatories.produce, purgatories.fetch, purgatories.deletions
    waiting = {}
    for purgatory in all_of_them:
        for key in ("partition", "other"):
            delayed = Delayed([key], float("inf"), lambda _: None, purgatory)
            purgatory.watch(delayed, lane.append, lambda _: None)
            waiting[purgatory.name, key] = delayed

    purgatories.mark("partition")
    purgatories.mark("unknown")

    assert lane == [waiting[purgatory.name, "partition"] for purgatory in all_of_them]
    for delayed in waiting.values():
        delayed.purgatory.drop(delayed)
