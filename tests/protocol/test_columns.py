"""Rows from columns are the bytes of the same rows as structs."""

from array import array

import pytest

from trio_kafka.protocol.columns import Columns
from trio_kafka.protocol.compiler import encoder, encoder_in_steps
from trio_kafka.protocol.messages.k01_fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from trio_kafka.protocol.size_check import size_check


def response(rows: object) -> FetchResponse:
    partition = PartitionData(aborted_transactions=rows, records=b"")  # type: ignore[arg-type]
    return FetchResponse(responses=[FetchableTopicResponse(partitions=[partition])])


def encoded(message: FetchResponse, version: int) -> bytes:
    pieces: list[bytes] = []
    encoder(FetchResponse, version)(message, pieces.append)
    return b"".join(pieces)


@pytest.mark.parametrize("version", [4, 12])
@pytest.mark.parametrize("count", [0, 1, 127, 40_000])
def test_columns_are_encoded_as_the_same_structs(version: int, count: int) -> None:
    producer_ids = array("q", (-1 if number % 7 == 0 else number << 40 for number in range(count)))
    offsets = array("q", range(count))
    columns = Columns(AbortedTransaction, (producer_ids, offsets))
    rows = [AbortedTransaction(*row) for row in zip(producer_ids, offsets, strict=True)]

    assert list(columns) == rows
    assert encoded(response(columns), version) == encoded(response(rows), version)


@pytest.mark.parametrize("version", [4, 12])
def test_columns_are_encoded_in_steps_to_the_same_bytes(version: int) -> None:
    column = array("q", range(40_000))
    message = response(Columns(AbortedTransaction, (column, column)))
    pieces: list[bytes] = []

    steps = sum(1 for _ in encoder_in_steps(FetchResponse, version)(message, pieces.append))

    assert b"".join(pieces) == encoded(message, version)
    assert steps >= 3


@pytest.mark.parametrize(("count", "is_large"), [(15_900, False), (16_100, True)])
def test_columns_are_encoded_at_once_up_to_16_000_rows(count: int, is_large: bool) -> None:
    column = array("q", range(count))

    assert size_check(FetchResponse)(response(Columns(AbortedTransaction, (column, column)))) is (
        is_large
    )
