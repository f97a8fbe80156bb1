"""Message sets of Kafka's own builder, and hostile ones."""

import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.errors import KafkaError
from trio_kafka.records.legacy import (
    LegacyMessage,
    message_crc,
    read_legacy_records,
    read_message,
)

ARCHIVE = Path(__file__).parent / "data" / "message_sets.tar.gz"


def message_sets() -> dict[str, bytes]:
    """Contents by name, those of magic 0 and 1, with what they hold as `expected.txt`."""
    result = {}
    with tarfile.open(ARCHIVE) as tar:
        for member in tar.getmembers():
            name = Path(member.name).name
            file = tar.extractfile(member)
            if file is not None and name.startswith(("v0", "v1", "expected")):
                result[name] = file.read()
    return result


SETS = message_sets()
NAMES = sorted(name for name in SETS if name != "expected.txt")


def messages(content: bytes) -> list[tuple[int, LegacyMessage]]:
    result, position = [], 0
    while position < len(content):
        message = read_message(content, position)
        result.append((position, message))
        position += message.size
    return result


def expected_lines(name: str) -> list[str]:
    """Lines of Kafka's own classes about the records of a set."""
    text = SETS["expected.txt"].decode().split(f"{name} ")[1]
    lines = text.split("\nv")[0].splitlines()
    return [line.strip() for line in lines if line.startswith("    ")]


def shown(content: bytes | None) -> str:
    return "null" if content is None else content.decode()


@pytest.mark.parametrize("name", NAMES)
def test_legacy_records_are_read_as_by_kafka(name: str) -> None:
    result = [
        f"offset {record.offset} timestamp {record.timestamp}"
        f" key {shown(record.key)} value {shown(record.value)}"
        for _, message in messages(SETS[name])
        for record in read_legacy_records(message)
    ]

    assert result == expected_lines(name)


@pytest.mark.parametrize("name", NAMES)
def test_every_legacy_message_matches_its_checksum(name: str) -> None:
    content = SETS[name]

    for position, message in messages(content):
        assert message_crc(content, position, message) == message.crc


@pytest.mark.parametrize("name", NAMES)
def test_append_time_of_a_legacy_wrapper_holds_for_all_its_records(name: str) -> None:
    for _, message in messages(SETS[name]):
        times = {record.timestamp for record in read_legacy_records(message)}
        assert message.is_log_append_time == ("logappend" in name)
        if message.is_log_append_time:
            assert times == {message.timestamp}


def test_batch_of_magic_2_is_refused_as_a_legacy_message() -> None:
    with pytest.raises(KafkaError, match="magic 2"):
        read_message(bytes(16) + b"\x02" + bytes(60))


def test_legacy_wrapper_that_decompresses_beyond_the_limit_is_refused() -> None:
    [(_, wrapper)] = messages(SETS["v1-gzip.bin"])

    with pytest.raises(KafkaError, match="limit"):
        list(read_legacy_records(wrapper, limit=20))


def test_legacy_wrapper_inside_a_wrapper_is_refused() -> None:
    [(_, wrapper)] = messages(SETS["v0-gzip.bin"])
    content = bytearray(SETS["v0-none.bin"])
    content[17] |= 1  # the first message claims a codec
    inner = read_message(bytes(content))

    with pytest.raises(KafkaError):
        list(read_legacy_records(inner))
    assert wrapper.codec != 0


@given(st.sampled_from(NAMES), st.integers(0, 300), st.integers(1, 255))
def test_damaged_legacy_message_gives_records_or_a_kafka_error(
    name: str, at: int, flip: int
) -> None:
    content = bytearray(SETS[name])
    content[at % len(content)] ^= flip

    try:
        for _, message in messages(bytes(content)):
            list(read_legacy_records(message))
    except KafkaError:
        pass
