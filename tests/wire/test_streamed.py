"""Bodies that are encoded while they are sent: pieces, and what may go wrong the second time."""

from collections.abc import Iterator

import pytest

from trio_kafka.wire.streamed import BodyChangedError, StreamedBody


def test_the_length_of_a_streamed_body_is_that_of_its_remaining_pieces() -> None:
    body = StreamedBody(iter([b"abc", b"de"]), 5)

    assert len(body) == 5
    assert body.next_piece() == b"abc"
    assert len(body) == 2
    assert body.next_piece() == b"de"
    assert (len(body), bool(body)) == (0, True)
    assert body.next_piece() == b""


@pytest.mark.parametrize("size", [4, 6])
def test_a_streamed_body_of_another_length_than_declared_is_an_error(size: int) -> None:
    with pytest.raises(BodyChangedError, match="expected 0"):
        list(StreamedBody(iter([b"abc", b"de"]), size))


def test_an_exception_while_encoding_a_streamed_body_is_a_body_changed_error() -> None:
    def fail() -> Iterator[bytes]:
        yield b"abc"
        raise ValueError("gone")

    body = StreamedBody(fail(), 5)

    assert body.next_piece() == b"abc"
    with pytest.raises(BodyChangedError, match="gone"):
        body.next_piece()


def test_a_released_streamed_body_is_empty() -> None:
    body = StreamedBody(iter([b"abc"]), 3)
    body.release()
    body.release()

    assert (len(body), list(body)) == (0, [])
