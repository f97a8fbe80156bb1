"""Events of a response channel."""

from typing import Any

from trio_kafka.network.connection_events import CloseConnection, Mute, SendAnswer, answered_at
from trio_kafka.network.reasons import CloseReason, MuteReason
from trio_kafka.testing.planes import bare_request

NO_CONNECTION: Any = None


def test_a_close_need_not_name_a_request() -> None:
    close = CloseConnection(NO_CONNECTION, CloseReason.GONE)

    assert (close.detail, close.request) == ("", None)


def test_only_events_that_carry_an_answer_tell_when_it_was_made() -> None:
    request = bare_request(0)
    request.stamps.answered = 5.0

    assert answered_at(SendAnswer(NO_CONNECTION, request, [])) == 5.0
    assert answered_at(Mute(NO_CONNECTION, MuteReason.THROTTLED)) is None
