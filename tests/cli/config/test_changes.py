"""Resources by Kafka's words."""

from trio_kafka.cli.config.changes import resource_of


def test_default_of_all_brokers_has_an_empty_name():
    assert resource_of("brokers", "default").name == ""
    assert resource_of("topics", "default").name == "default"
