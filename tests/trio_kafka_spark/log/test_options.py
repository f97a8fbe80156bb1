"""Options become values, and what is wrong is named."""

import pytest

from trio_kafka.model import TopicPartition
from trio_kafka_spark.client.errors import OptionError
from trio_kafka_spark.log.options import EARLIEST, LATEST, OPTIONS, LogOptions, assigned, offsets


def parsed(**options):
    return LogOptions.from_options({"path": "/var/kafka", "subscribe": "t", **options})


def test_defaults_read_everything_of_the_topics():
    options = parsed()

    assert options.path == ("/var/kafka",)
    assert options.subscribe == ("t",)
    assert (options.starting_offsets, options.ending_offsets) == (EARLIEST, LATEST)
    assert not options.permissive
    assert not options.read_committed
    assert not options.fail_on_data_loss


def test_option_names_are_case_insensitive():
    options = LogOptions.from_options(
        {"PATH": "/a, /b", "subscribepattern": "a.*", "SPLITBYTES": "7", "Mode": "PERMISSIVE"}
    )

    assert options.path == ("/a", "/b")
    assert options.split_bytes == 7
    assert options.permissive
    assert options.wants(TopicPartition("abc", 0))
    assert not options.wants(TopicPartition("bac", 0))


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("splitByte", "1", "did you mean splitBytes"),
        ("kafka.bootstrap.servers", "x", "want path, view, subscribe"),
        ("splitBytes", "0", "out of range"),
        ("view", "rows", "want records or batches or segments or errors"),
        ("mode", "lenient", "want failfast or permissive"),
        ("isolation", "serializable", "want read_uncommitted or read_committed"),
        ("startingOffsets", "middle", "want earliest, latest, or JSON"),
        ("startingOffsets", "latest", "leaves nothing"),
        ("endingOffsets", "earliest", "leaves nothing"),
        ("subscribePattern", "(", "no regular expression"),
        ("assign", '{"t": [0]}', "found 2"),
        ("includeHeaders", "yes", "want true or false"),
        ("uncompressed", "true", "view=batches"),
        ("path", " , ", "is missing"),
        ("subscribe", ",", "the list is empty"),
    ],
)
def test_an_invalid_option_value_is_refused_with_the_reason(option, value, said):
    with pytest.raises(OptionError) as caught:
        parsed(**{option: value})

    assert said in str(caught.value)


def test_views_other_than_records_need_no_topic_selection():
    assert LogOptions.from_options({"path": "/a", "view": "segments"}).wants(TopicPartition("t", 0))
    with pytest.raises(OptionError, match="found none"):
        LogOptions.from_options({"path": "/a"})


def test_offsets_are_words_or_json():
    assert offsets(" Earliest ") == EARLIEST
    assert offsets('{"t": {"0": 5, "1": -1}, "u": {"0": -2}}') == {
        TopicPartition("t", 0): 5,
        TopicPartition("t", 1): LATEST,
        TopicPartition("u", 0): EARLIEST,
    }


@pytest.mark.parametrize(
    "text", ["[]", "{", '{"t": 1}', '{"t": {"x": 1}}', '{"t": {"0": -3}}', '{"t": {"0": true}}']
)
def test_malformed_offsets_are_refused(text):
    with pytest.raises(ValueError, match="want earliest"):
        offsets(text)


def test_assign_takes_topics_and_partitions_as_json():
    assert assigned('{"t": [1, 0]}') == (TopicPartition("t", 1), TopicPartition("t", 0))
    options = LogOptions.from_options({"path": "/a", "assign": '{"t": [1]}'})
    assert options.wants(TopicPartition("t", 1))
    assert not options.wants(TopicPartition("t", 0))


@pytest.mark.parametrize("text", ["{}", '{"t": 0}', '{"t": ["0"]}', '{"t": [-1]}', '["t"]'])
def test_a_malformed_assign_option_is_refused(text):
    with pytest.raises(ValueError, match="want JSON"):
        assigned(text)


def test_every_option_has_an_attribute():
    attributes = {attribute for attribute, _ in OPTIONS.values()}

    assert attributes == {name for name in LogOptions.__slots__ if not name.startswith("_")}
