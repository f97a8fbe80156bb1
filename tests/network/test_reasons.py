"""Reasons: bits for muting, a closed set of labels for closing."""

from trio_kafka.network.reasons import CloseReason, MuteReason, mute_reasons_text


def test_each_mute_reason_has_a_bit_of_its_own() -> None:
    assert all(reason.bit_count() == 1 for reason in MuteReason)
    assert len(set(MuteReason)) == len(MuteReason.__members__)


def test_mute_reasons_are_shown_in_words() -> None:
    assert mute_reasons_text(0) == ""
    assert mute_reasons_text(MuteReason.IN_FLIGHT | MuteReason.THROTTLED) == "in flight, throttled"
    assert mute_reasons_text(MuteReason.CHANNEL_FULL) == "channel full"


def test_a_close_reason_formats_as_its_counter_label() -> None:
    assert f"{CloseReason.EXCEEDED}" == CloseReason.EXCEEDED == "max connections"
