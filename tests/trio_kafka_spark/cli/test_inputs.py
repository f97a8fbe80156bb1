"""Arguments become options of a reader."""

import pytest

from trio_kafka.cli import CommandFailedError
from trio_kafka_spark.cli.inputs import FROM_BROKER, FROM_LOG, Input, Reading, pairs


def kind_and_options(reading: Reading):
    return reading.kind, dict(reading.options)


def test_records_are_read_from_log_directories_or_from_a_broker():
    assert kind_and_options(Input(path="/a", topic=["t", "u"]).records(includeHeaders="true")) == (
        FROM_LOG,
        {"path": "/a", "subscribe": "t,u", "includeHeaders": "true"},
    )
    broker = Input(bootstrap="h:1", pattern="a.*", starting_offsets="earliest")
    assert kind_and_options(broker.records()) == (
        FROM_BROKER,
        {
            "kafka.bootstrap.servers": "h:1",
            "subscribePattern": "a.*",
            "startingOffsets": "earliest",
        },
    )


def test_without_path_and_bootstrap_the_broker_of_the_environment_is_read(monkeypatch):
    monkeypatch.setenv("TRIO_KAFKA_BOOTSTRAP", "e:1")
    assert Input(topic=["t"]).records().options["kafka.bootstrap.servers"] == "e:1"
    monkeypatch.delenv("TRIO_KAFKA_BOOTSTRAP")
    assert Input(topic=["t"]).records().options["kafka.bootstrap.servers"] == "127.0.0.1:9092"


def test_reader_options_override_other_arguments():
    source = Input(path="/a", topic=["t"], option=["mode=permissive", "subscribe=u"])

    assert source.view("batches").options == {
        "path": "/a",
        "view": "batches",
        "subscribe": "u",
        "mode": "permissive",
    }


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (Input(path="/a", bootstrap="h:1"), "found --path and --bootstrap; give one"),
        (Input(path="/a", topic=["t"], pattern="u"), "found --topic and --pattern; give one"),
        (Input(path="/a", option=["x"]), "'x'; expected NAME=VALUE"),
        (Input(path="/a", topic=["t"], option=["mood=x"]), "mood"),
        (Input(path="/a"), "want one of subscribe"),
        (Input(bootstrap="h:1", topic=["t"], starting_offsets="soon"), "startingOffsets"),
        (Input(bootstrap="h:1"), "subscribe"),
    ],
)
def test_invalid_or_contradictory_input_arguments_are_refused(source, said):
    with pytest.raises(CommandFailedError, match=said):
        source.records()


def test_views_other_than_records_need_log_directories():
    with pytest.raises(CommandFailedError, match="with --path"):
        Input(bootstrap="h:1").view("segments")


def test_the_value_of_an_option_can_contain_equals_signs():
    assert pairs(["a=b=c", "d="]) == {"a": "b=c", "d": ""}


def test_an_input_takes_only_its_own_arguments():
    arguments = {"path": "/a", "topic": [], "json": True}

    assert Input.taken(arguments).path == "/a"
    assert arguments == {"json": True}
