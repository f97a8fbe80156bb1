"""The cluster of a command as options of Spark's reader and writer."""

import pytest

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.cluster_address import Bootstrap
from trio_kafka_spark.cli.clusters import kafka_options
from trio_kafka_spark.cli.inputs import Input
from trio_kafka_spark.cli.writing import Output

SETTINGS = {"linger.ms": "5", "key.deserializer": "x", "request.timeout.ms": "7"}
CLUSTER = Bootstrap("h:1", SETTINGS)


def test_settings_of_a_profile_become_options_of_the_side_that_takes_them():
    assert kafka_options("h:1", for_writing=False) == {"kafka.bootstrap.servers": "h:1"}
    reading = Input(bootstrap=CLUSTER, topic=["t"]).records()
    writing = Output(to_bootstrap=CLUSTER).options

    assert reading.options["kafka.request.timeout.ms"] == "7"
    assert writing["kafka.request.timeout.ms"] == "7"
    assert writing["kafka.bootstrap.servers"] == "h:1"
    assert "kafka.key.deserializer" not in reading.options
    assert writing["kafka.linger.ms"] == "5"


def test_property_that_a_reader_refuses_is_named():
    cluster = Bootstrap("h:1", {}, {"key.deserializer": "x"})

    with pytest.raises(CommandFailedError, match=r"kafka\.key\.deserializer"):
        Input(bootstrap=cluster, topic=["t"]).records()
