import json
from pathlib import Path

import pytest

from trio_kafka.config.describe import describe_broker, describe_broker_defaults, describe_topic
from trio_kafka.config.dynamic import Layers, Source, Synonym
from trio_kafka.config.load import broker_config
from trio_kafka.config.values import Kind

RECORDED = json.loads((Path(__file__).parent / "data" / "describe-topic-rows.json").read_text())


def one(rows):
    (row,) = rows
    return row


def test_a_topics_rows_are_those_that_kafka_gave():
    broker = Layers(config=broker_config(), dynamic_default={"min.insync.replicas": "1"})

    rows = describe_topic({"retention.ms": "1000000", "min.insync.replicas": "1"}, broker)

    found = [
        {
            "name": row.name,
            "value": row.value,
            "read_only": row.read_only,
            "source": row.source,
            "sensitive": row.sensitive,
            "kind": row.kind,
            "synonyms": [[s.name, s.value, s.source] for s in row.synonyms],
        }
        for row in sorted(rows, key=lambda row: row.name)
    ]
    assert found == RECORDED


def test_synonyms_come_in_the_order_of_their_sources():
    broker = Layers(
        config=broker_config({"log.segment.bytes": "1048577"}),
        dynamic={"log.segment.bytes": "1048578"},
        dynamic_default={"log.segment.bytes": "1048579"},
    )

    row = one(describe_topic({"segment.bytes": "1048580"}, broker, ["segment.bytes"]))

    assert (row.value, row.source) == ("1048580", Source.TOPIC)
    assert row.synonyms == (
        Synonym("segment.bytes", "1048580", Source.TOPIC),
        Synonym("log.segment.bytes", "1048578", Source.DYNAMIC_BROKER),
        Synonym("log.segment.bytes", "1048579", Source.DYNAMIC_DEFAULT_BROKER),
        Synonym("log.segment.bytes", "1048577", Source.STATIC_BROKER),
        Synonym("log.segment.bytes", "1073741824", Source.DEFAULT),
    )


@pytest.mark.parametrize(
    ("layers", "value", "source"),
    [
        ({}, "1073741824", Source.DEFAULT),
        ({"dynamic_default": {"log.segment.bytes": "1048579"}}, "1048579", Source(3)),
        (
            {
                "dynamic": {"log.segment.bytes": "1048578"},
                "dynamic_default": {"log.segment.bytes": "1048579"},
            },
            "1048578",
            Source(2),
        ),
    ],
)
def test_the_value_is_that_of_the_first_source(layers, value, source):
    row = one(describe_topic({}, Layers(config=broker_config(), **layers), ["segment.bytes"]))

    assert (row.value, row.source) == (value, source)


def test_a_value_that_comes_from_another_unit_has_no_synonyms():
    broker = Layers(config=broker_config({"log.retention.hours": "2"}))

    row = one(describe_topic({}, broker, ["retention.ms"]))

    assert (row.value, row.source, row.synonyms) == ("7200000", Source.DEFAULT, ())


def test_behind_the_settings_own_name_its_synonyms_are_shown():
    broker = Layers(config=broker_config({"log.retention.ms": "5", "log.retention.hours": "2"}))

    row = one(describe_broker(broker, ["log.retention.ms"]))

    assert row.synonyms == (
        Synonym("log.retention.ms", "5", Source.STATIC_BROKER),
        Synonym("log.retention.hours", "2", Source.STATIC_BROKER),
        Synonym("log.retention.hours", "168", Source.DEFAULT),
    )


def test_a_brokers_row_says_whether_it_can_be_changed():
    rows = {row.name: row for row in describe_broker(Layers(config=broker_config()))}

    assert rows["num.io.threads"].read_only is False
    assert rows["listeners"].read_only is False
    assert rows["num.partitions"].read_only is True
    assert rows["num.partitions"].kind is Kind.INT
    assert rows["num.partitions"].doc


def test_an_embedded_nodes_own_defaults_are_defaults():
    row = one(describe_broker(Layers(config=broker_config()), ["node.id"]))

    assert (row.value, row.source) == ("1", Source.DEFAULT)
    assert row.synonyms == (Synonym("node.id", "1", Source.DEFAULT),)


def test_internal_settings_are_shown_only_where_they_were_given():
    def names(rows):
        return {row.name for row in rows}

    plain = Layers(config=broker_config())
    given = Layers(config=broker_config({"unstable.api.versions.enable": "true"}))

    assert "unstable.api.versions.enable" not in names(describe_broker(plain))
    assert "unstable.api.versions.enable" in names(describe_broker(given))
    assert "internal.segment.bytes" not in names(describe_topic({}, plain))
    assert "internal.segment.bytes" in names(describe_topic({"internal.segment.bytes": "9"}, plain))


def test_names_that_are_no_settings_have_no_row():
    assert describe_topic({}, Layers(config=broker_config()), ["nothing"]) == []
    assert describe_broker(Layers(config=broker_config()), ["nothing"]) == []


def test_the_resource_of_all_brokers_has_only_what_was_set_for_it():
    broker = Layers(config=broker_config(), dynamic_default={"min.insync.replicas": "1"})

    row = one(describe_broker_defaults(broker))

    assert (row.name, row.value, row.source) == ("min.insync.replicas", "1", Source(3))
    assert row.synonyms == (Synonym("min.insync.replicas", "1", Source(3)),)
    assert describe_broker_defaults(broker, ["num.io.threads"]) == []
