"""Batches whose records the broker checks one by one, beside batches whose header it checks.

Apache Kafka has no such setting: it checks every record. Python checks them, or the compiled leaf.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tests.benchmarks.bounds import times_other
from tests.benchmarks.figures import Figures
from tests.benchmarks.leaf import switched
from tests.benchmarks.rows.raw import make_batch, produce
from tests.benchmarks.rows.registry import Target, row
from tests.benchmarks.rows.small import produce_small
from trio_kafka.records.batch import decode_records, encode_batch
from trio_kafka.records.compression import Codec
from trio_kafka.records.header import HEADER_SIZE, read_header

SETTING: Final = "trio.record.validation"
SIZES: Final = {
    "16 kB": (16_000, Codec.NONE),
    "900 kB": (900_000, Codec.NONE),
    "16 kB in lz4": (16_000, Codec.LZ4),  # decompressed at once
    "900 kB in lz4": (900_000, Codec.LZ4),  # in a thread, from the queue
}


@row(
    "validation-header",
    times_other("16 kB, server CPU", must=0.9, aim=0.6),
    setting="header",
    compiled=False,
)
@row("validation-full", setting="full", compiled=False)
@row(
    "validation-full-leaf",
    times_other("16 kB, server CPU", must=0.7, aim=0.5),
    times_other("900 kB, server CPU", must=1.0, aim=0.6),
    setting="full",
    compiled=True,
)
def validation(target: Target, setting: str, compiled: bool) -> Figures:
    """Records of 100 bytes, in small and in large batches, plain and compressed.

    Figures of compressed batches are for the bytes that are sent.
    """
    figures: Figures = {}
    with _broker(target, setting, compiled=compiled) as broker:
        for name, (size, codec) in SIZES.items():
            batch = _in_codec(make_batch(100, size)[0], codec)
            with broker.topic(much=size) as topic:
                figures = {**figures, **produce(broker, topic, batch, name)}
    return figures


@row("validation-small-header", setting="header", compiled=False)
@row("validation-small-full", setting="full", compiled=False)
@row("validation-small-full-leaf", setting="full", compiled=True)
def small(target: Target, setting: str, compiled: bool) -> Figures:
    """One record of 100 bytes a request, 50 connections."""
    with _broker(target, setting, compiled=compiled) as broker:
        return produce_small(broker, connections=50, depth=1)


@contextmanager
def _broker(target: Target, setting: str, *, compiled: bool) -> Iterator[Target]:
    """Start a broker with this setting; another kind of broker has none and goes on."""
    if target.broker.name == "apache-kafka":
        yield target
        return
    with switched(on=compiled), target.fresh(f"{SETTING}={setting}") as broker:
        yield broker


def _in_codec(batch: bytes, codec: Codec) -> bytes:
    if codec is Codec.NONE:
        return batch
    header = read_header(batch)
    return encode_batch([*decode_records(batch[HEADER_SIZE:], header)], codec=codec)
