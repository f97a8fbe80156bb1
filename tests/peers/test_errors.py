"""Errors of asks, as callers catch them."""

from trio_kafka.peers.errors import DeadlineError, PeerError, StreamEndedError


def test_peer_and_deadline_errors_are_os_errors_that_say_whether_the_request_was_sent() -> None:
    lost, late = PeerError("lost", sent=True), DeadlineError("late", sent=False)

    assert isinstance(lost, OSError)
    assert isinstance(late, PeerError)
    assert isinstance(late, TimeoutError)
    assert (str(lost), lost.sent) == ("lost", True)
    assert (str(late), late.sent) == ("late", False)


def test_end_of_a_stream_names_the_missing_bytes() -> None:
    error = StreamEndedError(3)

    assert isinstance(error, ConnectionError)
    assert str(error) == "the peer closed the connection, 3 bytes are missing"
