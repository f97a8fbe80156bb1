"""Shards: state machines on the partitions of an internal topic, each with one writer.

Knows no groups. A coordinator is a machine (`protocols.ShardMachine`), the codec of its topic
(`record_codec.RecordCodec`) and events that handlers ask through a `coordinator.Coordinator`.
"""

__all__ = [
    "batch_accumulator",
    "coordinator",
    "effects",
    "owned_topic",
    "protocols",
    "record_codec",
    "runtime",
    "shard",
]
