"""Where records are written, and what is checked before."""

import json

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.trio_kafka_spark.jobs.kit import record, records
from trio_kafka_spark.cli.writing import Output, print_written
from trio_kafka_spark.client.errors import OptionError
from trio_kafka_spark.jobs.restore import restore


def create(broker, topic, partitions):
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    futures = admin.create_topics([NewTopic(topic, partitions)])
    futures[topic].result(30)


def test_an_output_topic_that_does_not_exist_is_refused(shared_broker):
    create(shared_broker, "writing-three", 3)
    output = Output(to_bootstrap=shared_broker.bootstrap, to_topic="writing-three")

    assert output.partitions() == 3
    with pytest.raises(OptionError, match="there is no topic writing-none: create it first"):
        Output(to_bootstrap=shared_broker.bootstrap, to_topic="writing-none").partitions()


def test_writer_options_override_other_arguments():
    output = Output(to_bootstrap="h:1", to_option=["kafka.acks=all", "timestampColumn=x"])

    assert output.options == {
        "kafka.bootstrap.servers": "h:1",
        "timestampColumn": "x",
        "kafka.acks": "all",
    }


@pytest.mark.parametrize(
    ("topic", "partitions", "text", "data"),
    [
        (None, None, "7 records written", {"records": 7}),
        ("t", None, "7 records written to t", {"records": 7, "topic": "t"}),
        (
            "t",
            3,
            "7 records written to 3 partitions of t",
            {"records": 7, "topic": "t", "partitions": 3},
        ),
    ],
)
def test_the_number_of_written_records_is_printed_as_text_or_json(
    topic, partitions, text, data, capsys
):
    print_written(7, topic, json=False, partitions=partitions)
    print_written(7, topic, json=True, partitions=partitions)

    first, second = capsys.readouterr().out.splitlines()
    assert first == text
    assert json.loads(second) == data


@pytest.mark.spark
def test_a_write_returns_the_number_of_its_records(spark, shared_broker):
    create(shared_broker, "writing-counted", 1)
    output = Output(to_bootstrap=shared_broker.bootstrap)
    entries = [record(n, topic="writing-counted") for n in range(7)]

    assert output.write(restore(records(spark, *entries))) == 7
