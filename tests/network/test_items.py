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
    ]

    assert sum(bits) == (1 << len(bits)) - 1


def test_a_close_need_not_name_a_request() -> None:
    close = items.Close(None, items.GONE)  # type: ignore[arg-type]

    assert (close.detail, close.request) == ("", None)
