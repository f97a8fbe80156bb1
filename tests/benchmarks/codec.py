"""Cost of encoding and decoding, beside kafka-python and kio.

    python -m tests.benchmarks.codec [--seconds S]

Four messages, of which a broker reads two and writes two; every codec gives the same bytes before
it is timed. A figure is µs of CPU, the best of some runs that alternate between the codecs. Ends
with status 1 if one of the BOUNDS is missed: how many times slower than ours the others must be.
"""

import argparse
import importlib
import io
import math
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from attrs import frozen

from trio_kafka.protocol.compiler import decoder, encoder
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from trio_kafka.protocol.messages.k01_fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from trio_kafka.protocol.messages.k03_metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

RECORDS: Final = bytes(1000)
TOPIC_ID: Final = b"\1" * 16
REPETITIONS: Final = 5


@frozen
class Codec:
    """Both directions of one message by one library."""

    encode: Callable[[], bytes]
    decode: Callable[[], object]


@frozen(kw_only=True)
class Bound:
    """How many times faster ours is to be: the geometric mean of the messages, and each of them."""

    direction: str
    than: str
    mean: float
    each: float


BOUNDS: Final = (
    Bound(direction="encode", than="kafka-python", mean=5.0, each=3.5),
    Bound(direction="encode", than="kio", mean=5.0, each=3.5),
    Bound(direction="decode", than="kafka-python", mean=1.5, each=1.2),
)
# µs by message, then by direction and library.
Timings = Mapping[str, Mapping[tuple[str, str], float]]


def messages() -> dict[str, tuple[Any, int]]:
    """The messages with their versions: 50 topics of 3 partitions, or 10 partitions of one."""
    partitions = range(10)
    metadata = MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=n, host=f"broker-{n}.example", port=9092)
            for n in range(3)
        ],
        cluster_id="abcdefghijklmnopqrstuv",
        controller_id=1,
        topics=[
            MetadataResponseTopic(
                name=f"topic-{topic:04}",
                topic_id=bytes([topic + 1]) * 16,
                partitions=[
                    MetadataResponsePartition(
                        partition_index=p,
                        leader_id=p,
                        leader_epoch=5,
                        replica_nodes=[0, 1, 2],
                        isr_nodes=[0, 1, 2],
                    )
                    for p in range(3)
                ],
            )
            for topic in range(50)
        ],
    )
    produced = [PartitionProduceData(index=n, records=RECORDS) for n in partitions]
    produce = ProduceRequest(
        acks=-1,
        timeout_ms=30_000,
        topic_data=[TopicProduceData(name="topic-0001", partition_data=produced)],
    )
    fetch_partitions = [
        FetchPartition(
            partition=n, current_leader_epoch=4, fetch_offset=1000 + n, partition_max_bytes=1 << 20
        )
        for n in partitions
    ]
    fetch = FetchRequest(
        max_wait_ms=500,
        min_bytes=1,
        topics=[FetchTopic(topic_id=TOPIC_ID, partitions=fetch_partitions)],
    )
    result = [
        PartitionData(
            partition_index=n,
            high_watermark=2000,
            last_stable_offset=2000,
            log_start_offset=0,
            aborted_transactions=None,
            records=RECORDS,
        )
        for n in partitions
    ]
    fetched = FetchResponse(
        responses=[FetchableTopicResponse(topic_id=TOPIC_ID, partitions=result)]
    )
    return {
        "MetadataResponse": (metadata, 12),
        "ProduceRequest": (produce, 9),
        "FetchRequest": (fetch, 13),
        "FetchResponse": (fetched, 13),
    }


def ours(message: Any, version: int) -> Codec:
    encode, decode = encoder(type(message), version), decoder(type(message), version)

    def encoded() -> bytes:
        segments: list[bytes] = []
        encode(message, segments.append)
        return b"".join(segments)

    whole = encoded()
    return Codec(encoded, lambda: decode(whole))


def kafka_python(name: str, version: int, whole: bytes) -> Codec:
    modules = {"MetadataResponse": "metadata", "ProduceRequest": "producer"}
    module = importlib.import_module(f"kafka.protocol.{modules.get(name, 'consumer')}")
    cls = getattr(module, name)
    message = cls.decode(whole, version=version)
    message._header = None  # it would write that of the frame again
    return Codec(
        lambda: bytes(message.encode(version=version)),
        lambda: cls.decode(whole, version=version),
    )


def kio(name: str, version: int, whole: bytes) -> Codec:
    from kio.index import load_payload_module
    from kio.serial import entity_reader, entity_writer
    from kio.static.constants import EntityType

    keys = {"ProduceRequest": 0, "FetchRequest": 1, "FetchResponse": 1, "MetadataResponse": 3}
    kind = EntityType.request if name.endswith("Request") else EntityType.response
    cls = getattr(load_payload_module(keys[name], version, kind), name)
    read, write = entity_reader(cls), entity_writer(cls)
    message, _ = read(whole, 0)

    def encoded() -> bytes:
        buffer = io.BytesIO()
        write(buffer, message)
        return buffer.getvalue()

    return Codec(encoded, lambda: read(whole, 0))


def codecs(name: str, message: Any, version: int) -> dict[str, Codec]:
    """The codecs of one message by library, ours first. ValueError: they do not agree."""
    mine = ours(message, version)
    whole = mine.encode()
    result = {
        "ours": mine,
        "kafka-python": kafka_python(name, version, whole),
        "kio": kio(name, version, whole),
    }
    return agreed(name, result)


def agreed(name: str, by_library: dict[str, Codec]) -> dict[str, Codec]:
    """The same codecs. ValueError if one gives other bytes than ours."""
    whole = by_library["ours"].encode()
    for library, codec in by_library.items():
        if codec.encode() != whole:
            raise ValueError(f"{name}: {library} has other bytes")
    return by_library


def cpu_us(call: Callable[[], object], seconds: float) -> float:
    """µs of CPU of one call, over at least so many seconds."""
    calls = 1
    while True:
        began = time.process_time()
        for _ in range(calls):
            call()
        took = time.process_time() - began
        if took >= seconds:
            return took / calls * 1e6
        calls = max(2 * calls, int(calls * seconds / max(took, 1e-6)))


def measure(seconds: float) -> dict[str, dict[tuple[str, str], float]]:
    """The best µs of each direction and library, for each message."""
    timings: dict[str, dict[tuple[str, str], float]] = {}
    for name, (message, version) in messages().items():
        row = timings[f"{name} v{version}"] = {}
        result = codecs(name, message, version)
        for _ in range(REPETITIONS):
            for library, codec in result.items():
                for direction, call in (("encode", codec.encode), ("decode", codec.decode)):
                    took = cpu_us(call, seconds / REPETITIONS)
                    row[direction, library] = min(took, row.get((direction, library), took))
    return timings


def ratios(timings: Timings, bound: Bound) -> dict[str, float]:
    """How many times faster ours is, by message."""
    return {
        name: row[bound.direction, bound.than] / row[bound.direction, "ours"]
        for name, row in timings.items()
    }


def geometric_mean(values: Iterable[float]) -> float:
    logarithms = [math.log(value) for value in values]
    return math.exp(sum(logarithms) / len(logarithms))


def missed(timings: Timings, bound: Bound) -> list[str]:
    """Violations of a bound, in words."""
    result = ratios(timings, bound)
    comparison = f"{bound.direction} against {bound.than}"
    said = [
        f"{comparison}: {name} is {ratio:.2f} times as fast, want {bound.each:g}"
        for name, ratio in result.items()
        if ratio < bound.each
    ]
    mean = geometric_mean(result.values())
    if mean < bound.mean:
        said.append(f"{comparison}: {mean:.2f} times as fast in the mean, want {bound.mean:g}")
    return said


def table(timings: Timings) -> str:
    """One line a message: µs of each library, and the ratios that BOUNDS speaks of."""
    libraries = ("ours", "kafka-python", "kio")
    lines = []
    for direction in ("encode", "decode"):
        against = [bound for bound in BOUNDS if bound.direction == direction]
        titles = [*libraries, *(f"{bound.than} /ours" for bound in against)]
        lines.append(f"{direction + ', µs':22}" + "".join(f"{title:>20}" for title in titles))
        for name, row in timings.items():
            cells = [f"{row[direction, library]:.1f}" for library in libraries]
            cells += [f"{ratios(timings, bound)[name]:.2f}" for bound in against]
            lines.append(f"  {name:20}" + "".join(f"{cell:>20}" for cell in cells))
        means = [f"{geometric_mean(ratios(timings, bound).values()):.2f}" for bound in against]
        cells = [""] * len(libraries) + means
        lines.append(f"  {'geometric mean':20}" + "".join(f"{cell:>20}" for cell in cells))
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.codec",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seconds", type=float, default=0.5, help="of each figure (%(default)s)")
    timings = measure(parser.parse_args(arguments).seconds)
    print(table(timings))
    lines = [line for bound in BOUNDS for line in missed(timings, bound)]
    print(*(f"MISSED {line}" for line in lines), sep="\n", end="\n" if lines else "")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
