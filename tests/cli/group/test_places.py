"""Targets of a seek."""

import pytest

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.group.places import Target, parse_target, read_csv
from trio_kafka.clients.admin.records import EARLIEST, LATEST, for_timestamp
from trio_kafka.model import TopicPartition


def test_option_to_takes_names_times_shifts_and_offsets():
    assert parse_target("earliest") == Target(spec=EARLIEST)
    assert parse_target("latest") == Target(spec=LATEST)
    assert parse_target("@1970-01-01T00:00:01") == Target(spec=for_timestamp(1000))
    assert parse_target("+5") == Target(shift=5)
    assert parse_target("-5") == Target(shift=-5)
    assert parse_target("5") == Target(offset=5)


def test_csv_is_what_kafkas_tool_writes(tmp_path):
    path = tmp_path / "offsets.csv"
    path.write_text('"a,b",0,5\n\nc, 1, 7\n')

    assert read_csv(str(path)) == {TopicPartition("a,b", 0): 5, TopicPartition("c", 1): 7}


@pytest.mark.parametrize("text", ["a,0\n", "a,x,1\n", "a,0,-1\n", "a,0,1,2\n", ""])
def test_wrong_csv_names_the_file(tmp_path, text):
    path = tmp_path / "offsets.csv"
    path.write_text(text)

    with pytest.raises(CommandFailedError, match=r"offsets\.csv: .*topic,partition,offset"):
        read_csv(str(path))
