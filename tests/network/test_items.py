"""Reasons: bits for muting, a closed set of labels for closing."""

from trio_kafka.network import items


def test_each_reason_to_be_muted_has_a_bit_of_its_own() -> None:
    bits = [
        items.IN_HAND,
        items.CHANNEL_FULL,
        items.THROTTLED,
        items.MEMORY,
        items.DRAINING,
        items.REAUTHENTICATING,
        items.SENDING,
    ]

    assert sum(bits) == (1 << len(bits)) - 1
    assert len({items.words_of(bit) for bit in bits} - {""}) == len(bits)


def test_a_set_of_reasons_is_told_in_words() -> None:
    assert items.words_of(0) == ""
    assert items.words_of(items.IN_HAND | items.THROTTLED) == "in hand, throttled"


def test_a_close_need_not_name_a_request() -> None:
    close = items.Close(None, items.GONE)  # type: ignore[arg-type]

    assert (close.detail, close.request) == ("", None)
