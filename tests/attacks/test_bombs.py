"""Batches that unpack to hundreds of megabytes cost neither memory nor anybody's time."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.attacks.bombs import LARGEST_WINDOW, LATER_MS, MIB, bomb
from tests.attacks.harness import Attacked, attacked_broker
from tests.benchmarks import protocol
from tests.benchmarks.connection import Connection, connect
from tests.benchmarks.quotas import ask
from tests.lanes import sampled
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.compiler import decoder
from trio_kafka.protocol.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from trio_kafka.protocol.messages.k19_create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from trio_kafka.records.batch import Record, encode_batch
from trio_kafka.records.compression import Codec
from trio_kafka.testing.scripted_client import request_frame

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

Size = Callable[[int, int], int]
OVER, BELOW = 300 * MIB, 255 * MIB  # of records of a batch: the broker unpacks up to 256 MiB
SETTLED = 100 * MIB  # the broker may keep so much more than before the attack: threads, connections
PACKED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
COMPACT = {"cleanup.policy": "compact"}
SHORT_AFTER = ("lz4", "zstd")  # one that is too large, one that fits
LARGE_BATCHES = {"max.message.bytes": str(16 * MIB)}  # snappy packs zeros 21 to 1


def create(
    connection: Connection, topic: str, configs: dict[str, str], partitions: int = 1
) -> None:
    rows = [CreatableTopicConfig(*each) for each in configs.items()]
    new_topic = CreatableTopic(topic, partitions, 1, configs=rows)
    answer = ask(connection, CreateTopicsRequest([new_topic]), 7)
    assert not answer.topics[0].error_code


def honest(codec: Codec = Codec.ZSTD) -> bytes:
    records = [Record(key=b"k", value=b"v" * 100, timestamp=int(time.time() * 1000))]
    return encode_batch(records * 500, codec=codec)


def code_of(topic: str, connection: Connection) -> int:
    return protocol.produce_error(topic, connection.answer())


@contextmanager
def connections(attacked: Attacked, count: int) -> Iterator[list[Connection]]:
    with ExitStack() as stack:
        address = attacked.broker.address
        yield [stack.enter_context(connect(address, 1 << 16)) for _ in range(count)]


@contextmanager
def attacked_topic(
    directory: Path, configs: dict[str, str], partitions: int = 1, *, sent: int = 0
) -> Iterator[tuple[Attacked, Connection]]:
    """A broker with a topic `t`, whose honest producer writes before and after the attack.

    sent: bytes of requests that wait at the same time, some of which are copied at a moment.
    """
    with (
        attacked_broker(directory, most_resident_bytes=400 * MIB + 5 * sent // 4) as attacked,
        connections(attacked, 1) as (client,),
    ):
        create(client, "t", configs, partitions)
        client.socket.settimeout(60)
        write = protocol.produce_request("t", honest(), 1)
        assert protocol.produce_error("t", client.call(write)) == 0
        before = attacked.resident_bytes
        yield attacked, client
        assert protocol.produce_error("t", client.call(write)) == 0
        ends = time.monotonic() + 30  # the last batch may still be at work, its request long over
        while (kept := attacked.resident_bytes - before) > SETTLED:
            assert time.monotonic() < ends, f"{kept / MIB:.0f} MiB"
            time.sleep(0.1)


def configs_of(codec: Codec, way: str) -> dict[str, str]:
    configs = dict(COMPACT) if way == "compact" else {"compression.type": way}
    return configs | (LARGE_BATCHES if codec in (Codec.SNAPPY, Codec.LZ4) else {})


@pytest.mark.parametrize(
    ("codec", "way"),
    # One that Python's own library unpacks, one that is packed anew.
    sampled(
        [*((codec, "compact") for codec in PACKED), (Codec.ZSTD, "lz4")],
        lambda case: case in ((Codec.GZIP, "compact"), (Codec.ZSTD, "lz4")),
    ),
)
def test_successive_compression_bombs_are_refused(
    tmp_path: Path, size: Size, codec: Codec, way: str
) -> None:
    with attacked_topic(tmp_path, configs_of(codec, way)) as (_, client):
        request = protocol.produce_request("t", bomb(codec, OVER), 1)
        for _ in range(size(2, 60)):
            code = protocol.produce_error("t", client.call(request))
            assert code == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize(
    ("codec", "grown"),
    sampled(
        [*((codec, BELOW) for codec in PACKED), (Codec.ZSTD, OVER)],
        lambda case: case in ((Codec.SNAPPY, BELOW), (Codec.ZSTD, OVER)),
    ),
)
def test_concurrent_compression_bombs_are_bounded_in_memory_and_time(
    tmp_path: Path, size: Size, codec: Codec, grown: int
) -> None:
    count = size(3, 20)
    batch = bomb(codec, grown)
    configs = configs_of(codec, "compact")
    # Snappy packs 21 to 1 at most: the batches that were sent are memory, too.
    with (
        attacked_topic(tmp_path, configs, count, sent=count * len(batch)) as (attacked, _),
        connections(attacked, count) as clients,
    ):
        for number, client in enumerate(clients):
            client.socket.settimeout(60)
            client.send(protocol.produce_request("t", batch, 1, first=number))
        codes = {code_of("t", client) for client in clients}

    assert codes == {ErrorCode.INVALID_RECORD if grown == OVER else ErrorCode.NONE}


@pytest.mark.parametrize(
    "after",
    sampled(["uncompressed", "gzip", "snappy", "lz4", "zstd"], lambda after: after in SHORT_AFTER),
)
def test_compression_bombs_below_the_limit_are_recompressed_or_refused_as_too_large(
    tmp_path: Path, size: Size, after: str
) -> None:
    before = Codec.GZIP if after == "zstd" else Codec.ZSTD
    count = size(2, 10)
    configs = {"compression.type": after, "compression.zstd.level": "22"}
    with attacked_topic(tmp_path, configs, count) as (_, client):
        request = protocol.produce_request("t", bomb(before, BELOW), 1, count)
        code = protocol.produce_error("t", client.call(request))

    fits = after in ("gzip", "zstd")  # lz4 and snappy leave more than a megabyte
    assert code == (ErrorCode.NONE if fits else ErrorCode.MESSAGE_TOO_LARGE)


@pytest.mark.parametrize("grown", sampled([BELOW, OVER], lambda grown: grown == OVER))
def test_compression_bombs_with_the_largest_zstd_window_are_refused(
    tmp_path: Path, size: Size, grown: int
) -> None:
    with attacked_topic(tmp_path, COMPACT) as (_, client):
        batch = bomb(Codec.ZSTD, grown, window=LARGEST_WINDOW)
        for _ in range(size(2, 20)):
            code = protocol.produce_error("t", client.call(protocol.produce_request("t", batch, 1)))
            assert code == ErrorCode.INVALID_RECORD


def test_a_record_with_millions_of_headers_is_accepted_within_bounds(
    tmp_path: Path, size: Size
) -> None:
    with attacked_topic(tmp_path, COMPACT) as (_, client):
        batch = bomb(Codec.ZSTD, size(4, 16) * MIB, headers=True)
        assert (
            protocol.produce_error("t", client.call(protocol.produce_request("t", batch, 1))) == 0
        )


def test_a_search_by_time_in_a_stored_compression_bomb_is_bounded(
    tmp_path: Path, size: Size
) -> None:
    """A topic that keeps batches as they come unpacks none until a client asks by time."""
    count = size(4, 20)
    with attacked_topic(tmp_path, {"compression.type": "producer"}, 2) as (attacked, client):
        for number, grown in enumerate((BELOW, OVER)):
            stored = protocol.produce_request("t", bomb(Codec.ZSTD, grown), 1, first=number)
            assert protocol.produce_error("t", client.call(stored)) == 0
        soon = int(time.time() * 1000) + LATER_MS // 2
        parts = [ListOffsetsPartition(number, timestamp=soon) for number in range(2)]
        request = ListOffsetsRequest(topics=[ListOffsetsTopic("t", parts)])
        with connections(attacked, count) as clients:
            found_some = 0
            for each in clients:
                each.socket.settimeout(60)
                each.send(request_frame(request, 4))
            for each in clients:
                answer = bytes(each.answer())
                response, _ = decoder(ListOffsetsResponse, 4)(memoryview(answer), 4)
                rows = response.topics[0].partitions
                codes = [row.error_code for row in rows]
                later = ErrorCode.LEADER_NOT_AVAILABLE  # other searches wait: the client asks again
                assert codes[0] in (0, later)
                assert codes[1] in (ErrorCode.CORRUPT_MESSAGE, later)
                found_some += not codes[0]
        assert found_some
