"""Hash of a group's topics: when it changes, the group is assigned again.

It covers id, name, and partitions with the racks of their replicas. The hash is in the group's
record, so it equals Kafka's bit for bit. Source: KIP-1101, computeTopicHash, computeGroupHash.
"""

from collections.abc import Iterable
from itertools import chain
from struct import Struct, pack
from typing import Final

from trio_kafka.coordinators.groups.consumer.xxh3 import xxh3_64
from trio_kafka.metadata.image import MetadataImage, TopicImage
from trio_kafka.scheduling.chunked_work import Steps, sorted_in_steps

_VERSION: Final = b"\x00"
_INT: Final = Struct("<i")
_TWO_LONGS: Final = Struct("<2Q")
_TWO_BIG: Final = Struct(">2Q")
_A_STEP: Final = 1000  # partitions in one step
_NAMES: Final = 50  # topics in one step: 0.5 ms if they are hashed


def metadata_hash(
    names: Iterable[str], image: MetadataImage, hashes_by_name: dict[str, int]
) -> Steps[int]:
    """Return the hash of the existing topics of these names, as a signed int64; 0 if none exists.

    known: cached hashes of topics; the caller removes them when a topic changes.
    """
    hashes: list[int] = []
    for number, name in enumerate((yield from sorted_in_steps(names)), 1):
        if not number % _NAMES:
            yield
        topic = image.topics.get(name)
        if topic is not None:
            if name not in hashes_by_name:
                hashes_by_name[name] = yield from topic_hash(topic, image)
            hashes.append(hashes_by_name[name])
    if not hashes:
        return 0
    return _signed((yield from xxh3_64(pack(f"<{len(hashes)}q", *hashes))))


def topic_hash(topic: TopicImage, image: MetadataImage) -> Steps[int]:
    """Return the hash of one topic, as a signed int64."""
    pieces = [
        _VERSION,
        _TWO_LONGS.pack(*_TWO_BIG.unpack(topic.id)),
        _text(topic.name),
        _INT.pack(len(topic.partitions)),
    ]
    racks = {number: broker.rack for number, broker in image.brokers.items() if broker.rack}
    texts: dict[tuple[int, ...], bytes] = {}
    for number in range(len(topic.partitions)):
        replicas = tuple(topic.partitions[number].replicas)
        if replicas not in texts:
            of_replicas = sorted(racks[node] for node in replicas if node in racks)
            texts[replicas] = b"".join(
                chain.from_iterable((_INT.pack(_length(rack)), _text(rack)) for rack in of_replicas)
            )
        pieces.append(_INT.pack(number) + texts[replicas])
        if number % _A_STEP == _A_STEP - 1:
            yield
    return _signed((yield from xxh3_64(b"".join(pieces))))


def _text(text: str) -> bytes:
    """Return a text as hash4j streams it: UTF-16, then the number of units."""
    units = text.encode("utf-16-le")
    return units + _INT.pack(len(units) // 2)


def _length(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
