"""Reasons: bits for muting, a closed set of labels for closing."""

from trio_kafka.network import connection_events as events


def test_each_reason_to_be_muted_has_a_bit_of_its_own() -> None:
    bits = [
        events.IN_HAND,
        events.CHANNEL_FULL,
        events.THROTTLED,
        events.MEMORY,
        events.DRAINING,
        events.REAUTHENTICATING,
        events.SENDING,
    ]

    assert sum(bits) == (1 << len(bits)) - 1
    assert len({events.words_of(bit) for bit in bits} - {""}) == len(bits)


def test_a_set_of_reasons_is_told_in_words() -> None:
    assert events.words_of(0) == ""
    assert events.words_of(events.IN_HAND | events.THROTTLED) == "in hand, throttled"


def test_a_close_need_not_name_a_request() -> None:
    close = events.Close(None, events.GONE)  # type: ignore[arg-type]

    assert (close.detail, close.request) == ("", None)
