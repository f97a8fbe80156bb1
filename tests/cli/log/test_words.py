import pytest

from trio_kafka.cli.log.decoders import Decoded
from trio_kafka.cli.log.words import (
    bytes_text,
    decoded_words,
    record_words,
    size_text,
    time_text,
)
from trio_kafka.records.batch import Record


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "1970-01-01 00:00:00.000"),
        (1_700_000_000_123, "2023-11-14 22:13:20.123"),
        (-1, "-"),
        (-2, "-2"),
        (1 << 62, str(1 << 62)),
    ],
)
def test_times_are_shown_as_dates_if_possible(milliseconds: int, text: str) -> None:
    assert time_text(milliseconds) == text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "null"),
        (b"", "''"),
        (b"abc", "'abc'"),
        ("ä€".encode(), "'ä€'"),
        (b"a\nb", "'a\\\\nb'"),
        (b"\xff\x00", "0xff00"),
        (b"\x00\x01", "0x0001"),
    ],
)
def test_bytes_are_shown_as_text_or_hex(content: bytes | None, text: str) -> None:
    assert bytes_text(content) == text


def test_long_bytes_are_truncated_with_their_size() -> None:
    assert bytes_text(b"x" * 30, 10) == f"'{'x' * 10}'… (30 bytes)"
    assert bytes_text(b"\xff" * 30, 10) == f"0x{'ff' * 5}… (30 bytes)"
    assert bytes_text(b"x" * 30, None) == f"'{'x' * 30}'"


def test_record_is_shown_with_key_value_and_headers() -> None:
    record = Record(key=b"k", value=None, headers=[("h", b"1"), ("n", None)])

    assert record_words(record) == "key='k'  value=null  headers: h='1' n=null"


def test_decoded_record_is_shown_in_words() -> None:
    value = {"transactionStatus": 4, "lastUpdateTimestampMs": 0, "partitions": [1, 2], "x": None}
    result = Decoded(name="TransactionLog", number=0, key={"transactionalId": "a b"}, value=value)

    assert decoded_words(result) == (
        "transaction log transactional_id='a b': transaction_status='complete commit'"
        " last_update_timestamp_ms='1970-01-01 00:00:00.000' partitions=[1, 2] x=null"
    )


def test_tombstone_is_shown_with_its_deleted_key() -> None:
    result = Decoded(name="GroupMetadata", number=2, key={"group": "g"})

    assert decoded_words(result) == "group metadata group=g: deleted"


def test_unknown_number_of_an_enumeration_is_shown_as_a_number() -> None:
    result = Decoded(name="TransactionLog", number=0, value={"transactionStatus": 99})

    assert decoded_words(result) == "transaction log: transaction_status=99"


def test_long_arrays_are_truncated_unless_all_items_are_requested() -> None:
    result = Decoded(name="TopicRecord", number=2, value={"ids": list(range(100))})

    assert decoded_words(result).endswith("and 80 more]")
    assert decoded_words(result, None).endswith("98, 99]")


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1536, "1.5 KiB"),
        (1 << 30, "1.0 GiB"),
        (1 << 50, "1024.0 TiB"),
    ],
)
def test_sizes_are_shown_in_a_suitable_unit(size: int, text: str) -> None:
    assert size_text(size) == text
