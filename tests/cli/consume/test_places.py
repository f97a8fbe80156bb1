"""Where a read begins."""

import pytest

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.consume.places import Start, parse_offset


def test_option_offset_takes_names_numbers_and_negative_numbers():
    assert parse_offset("earliest") == parse_offset("beginning") == Start()
    assert parse_offset("latest") == parse_offset("end") == Start(last=0)
    assert parse_offset("12") == Start(offset=12)
    assert parse_offset("-3") == Start(last=3)


@pytest.mark.parametrize("text", ["", "first", "--1", "1.0", "²", str(1 << 63)])
def test_other_texts_are_rejected(text):
    with pytest.raises(CommandFailedError, match="want earliest, latest, an offset"):
        parse_offset(text)
