"""Requests that wait for a replica: Produce, Fetch and DeleteRecords, each in its purgatory."""

from trio_kafka.introspect.tree import Node
from trio_kafka.purgatory import Purgatory, Timers


class Purgatories:
    """produce: waits for acknowledgement; fetch: for records; deletions: for other replicas."""

    def __init__(self, timers: Timers, node: Node) -> None:
        self.produce = Purgatory("Produce", timers, node)
        self.fetch = Purgatory("Fetch", timers, node)
        self.deletions = Purgatory("DeleteRecords", timers, node)

    def mark(self, key: object) -> None:
        """Mark what watches a key: a Partition, its `loss`, or a queued append."""
        if key in self.produce.watchers:
            self.produce.mark(key)
        if key in self.fetch.watchers:
            self.fetch.mark(key)
        if key in self.deletions.watchers:
            self.deletions.mark(key)
