"""Wait of a parked Fetch as data: for bytes of its partitions, or for reads of cold ones."""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final

from trio_kafka.errors import KafkaError
from trio_kafka.introspect.waits import Subject, Wait
from trio_kafka.model import NodeId, TopicPartition
from trio_kafka.replication.leader.sessions import FetchKey
from trio_kafka.replication.partition import Partition

_LOOKED_AT: Final = 64  # partitions of a Fetch that are looked at for their names
_NAMED: Final = 3  # topics that the words name


def fetch_wait(
    keys: Iterable[FetchKey],
    count: int,
    *,
    resolve: Callable[[FetchKey], Partition],
    has: int | None,
    needs: int,
    follower: NodeId | None,
) -> Wait:
    """Return the wait of a Fetch.

    keys, count: its partitions, and how many there are. resolve: finds one for its client.
    has: bytes that they have for it; None: it waits for reads from the disk. needs: bytes that
    answer it. follower: the broker that fetches, if one does.
    """
    on, source = _source(_partitions(keys, resolve), count)
    if has is None:
        words = f"a read from the disk of {source}"
        return Wait(cause="read", words=words, on=on, then="it is answered with the rest")
    least = max(needs, 1)
    reader = "" if follower is None else f" for broker {follower}"
    return Wait(
        cause="bytes",
        words=f"{has:,} of {least:,} bytes from {source}{reader}",
        on=on,
        needs=least,
        has=has,
        unit="bytes",
        then="it is answered with what is there",
    )


def _partitions(
    keys: Iterable[FetchKey], resolve: Callable[[FetchKey], Partition]
) -> list[TopicPartition]:
    partitions = []
    for key in islice(keys, _LOOKED_AT):
        try:
            partitions.append(resolve(key).at)
        except KafkaError:
            continue  # unknown, or not allowed to be read: the client has got the error
    return partitions


def _source(partitions: list[TopicPartition], count: int) -> tuple[Subject, str]:
    """Return what the Fetch reads from, and its words.

    count: of all partitions, of which these are the first.
    """
    if not partitions:
        return Subject("topic", ""), f"{count:,} unknown partitions" if count else "no partition"
    if count == 1:
        name = str(partitions[0])
        return Subject("partition", name), name
    topics = list(dict.fromkeys(at.topic for at in partitions))
    noun = "topic" if len(topics) == 1 else "topics"
    names = ", ".join(topics[:_NAMED])
    more = " and more" if len(topics) > _NAMED else ""
    return Subject("topic", topics[0]), f"{noun} {names}{more}, {count:,} partitions"
