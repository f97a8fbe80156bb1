import json
from pathlib import Path

import pytest

from trio_kafka.config.dynamic import Layers, Source, Synonym
from trio_kafka.config.load import EMBEDDED, broker_config
from trio_kafka.config.report.describe import (
    describe_broker,
    describe_broker_defaults,
    describe_client_metrics,
    describe_topic,
)
from trio_kafka.config.setting import settings_of
from trio_kafka.config.trio_settings import TrioSettings
from trio_kafka.config.values import Kind

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "describe-topic-rows.json").read_text())


def only_row(rows):
    (row,) = rows
    return row


def test_the_described_rows_of_a_topic_equal_the_rows_recorded_from_kafka():
    broker = Layers(config=broker_config(), dynamic_default={"min.insync.replicas": "1"})

    rows = describe_topic({"retention.ms": "1000000", "min.insync.replicas": "1"}, broker)

    described = [
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
    assert described == RECORDED


def test_synonyms_are_listed_in_the_order_of_their_sources():
    broker = Layers(
        config=broker_config({"log.segment.bytes": "1048577"}),
        dynamic={"log.segment.bytes": "1048578"},
        dynamic_default={"log.segment.bytes": "1048579"},
    )

    row = only_row(describe_topic({"segment.bytes": "1048580"}, broker, ["segment.bytes"]))

    assert (row.value, row.source) == ("1048580", Source.TOPIC)
    assert row.synonyms == (
        Synonym(name="segment.bytes", value="1048580", source=Source.TOPIC),
        Synonym(name="log.segment.bytes", value="1048578", source=Source.DYNAMIC_BROKER),
        Synonym(name="log.segment.bytes", value="1048579", source=Source.DYNAMIC_DEFAULT_BROKER),
        Synonym(name="log.segment.bytes", value="1048577", source=Source.STATIC_BROKER),
        Synonym(name="log.segment.bytes", value="1073741824", source=Source.DEFAULT),
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
def test_the_described_value_comes_from_the_source_of_highest_precedence(layers, value, source):
    row = only_row(describe_topic({}, Layers(config=broker_config(), **layers), ["segment.bytes"]))

    assert (row.value, row.source) == (value, source)


def test_a_value_converted_from_another_unit_has_no_synonyms():
    broker = Layers(config=broker_config({"log.retention.hours": "2"}))

    row = only_row(describe_topic({}, broker, ["retention.ms"]))

    assert (row.value, row.source, row.synonyms) == ("7200000", Source.DEFAULT, ())


def test_the_synonyms_of_a_setting_are_listed_after_its_own_name():
    broker = Layers(config=broker_config({"log.retention.ms": "5", "log.retention.hours": "2"}))

    row = only_row(describe_broker(broker, ["log.retention.ms"]))

    assert row.synonyms == (
        Synonym(name="log.retention.ms", value="5", source=Source.STATIC_BROKER),
        Synonym(name="log.retention.hours", value="2", source=Source.STATIC_BROKER),
        Synonym(name="log.retention.hours", value="168", source=Source.DEFAULT),
    )


def test_the_row_of_a_broker_setting_says_whether_the_setting_is_read_only():
    rows = {row.name: row for row in describe_broker(Layers(config=broker_config()))}

    assert rows["num.io.threads"].read_only is False
    assert rows["listeners"].read_only is False
    assert rows["num.partitions"].read_only is True
    assert rows["num.partitions"].kind is Kind.INT
    assert rows["num.partitions"].doc


def test_defaults_of_an_embedded_node_have_the_default_source():
    row = only_row(describe_broker(Layers(config=broker_config()), ["node.id"]))

    assert (row.value, row.source) == ("1", Source.DEFAULT)
    assert row.synonyms == (Synonym(name="node.id", value="1", source=Source.DEFAULT),)


def test_internal_settings_are_described_only_when_they_were_given():
    def names(rows):
        return {row.name for row in rows}

    plain = Layers(config=broker_config())
    configured = Layers(config=broker_config({"unstable.api.versions.enable": "true"}))

    assert "unstable.api.versions.enable" not in names(describe_broker(plain))
    assert "unstable.api.versions.enable" in names(describe_broker(configured))
    assert "internal.segment.bytes" not in names(describe_topic({}, plain))
    assert "internal.segment.bytes" in names(describe_topic({"internal.segment.bytes": "9"}, plain))


def test_unknown_setting_names_have_no_row():
    assert describe_topic({}, Layers(config=broker_config()), ["nothing"]) == []
    assert describe_broker(Layers(config=broker_config()), ["nothing"]) == []


def test_the_broker_default_resource_describes_only_settings_that_were_set_for_all_brokers():
    broker = Layers(config=broker_config(), dynamic_default={"min.insync.replicas": "1"})

    row = only_row(describe_broker_defaults(broker))

    assert (row.name, row.value, row.source) == ("min.insync.replicas", "1", Source(3))
    assert row.synonyms == (Synonym(name="min.insync.replicas", value="1", source=Source(3)),)
    assert describe_broker_defaults(broker, ["num.io.threads"]) == []


def test_settings_without_effect_are_described_and_their_secrets_hidden():
    broker = Layers(
        config=broker_config({"log.cleaner.threads": "2", "ssl.key.password": "hidden"}),
        dynamic={"listener.name.a.ssl.key.password": "hidden"},
    )

    rows = {row.name: row for row in describe_broker(broker)}

    assert (rows["log.cleaner.threads"].value, rows["log.cleaner.threads"].source) == ("2", 4)
    assert (rows["log.cleaner.backoff.ms"].value, rows["log.cleaner.backoff.ms"].source) == (
        "15000",
        5,
    )
    for name, source in (("ssl.key.password", 4), ("listener.name.a.ssl.key.password", 2)):
        row = rows[name]
        assert (row.value, row.source, row.sensitive) == (None, source, True)
        assert all(synonym.value is None for synonym in row.synonyms)
    assert "hidden" not in repr(rows)


def test_replication_throttle_rates_are_described_only_when_they_were_set():
    name = "leader.replication.throttled.rate"
    plain = Layers(config=broker_config())
    changed = Layers(config=broker_config(), dynamic={name: "7"})

    assert describe_broker(plain, [name]) == []
    row = only_row(describe_broker(changed, [name]))
    assert (row.value, row.source, row.read_only) == ("7", Source.DYNAMIC_BROKER, False)


def test_the_broker_default_resource_shows_no_values_of_one_broker():
    broker = Layers(
        config=broker_config({"num.io.threads": "9"}),
        dynamic={"num.io.threads": "10"},
        dynamic_default={"num.io.threads": "11"},
    )

    row = only_row(describe_broker_defaults(broker))

    assert (row.value, row.source) == ("11", Source.DYNAMIC_DEFAULT_BROKER)
    assert row.synonyms == (
        Synonym(name="num.io.threads", value="11", source=Source.DYNAMIC_DEFAULT_BROKER),
    )


def test_an_invalid_dynamic_value_is_described_as_not_set():
    broker = Layers(config=broker_config(), dynamic={"num.io.threads": "x", "of.another": "y"})

    assert only_row(describe_broker(broker, ["num.io.threads"])).value == "8"
    assert describe_topic({}, broker)


def test_a_setting_requested_twice_has_one_row():
    assert only_row(describe_broker(Layers(config=broker_config()), ["node.id", "node.id"]))


def test_a_broker_describes_all_settings_of_kafka_and_of_trio_kafka():
    facts = json.loads((Path(__file__).parents[1] / "data" / "kafka-4.4-configs.json").read_text())
    kafkas = {fact["name"] for fact in facts["broker"] if not fact.get("internal")}

    rows = describe_broker(Layers(config=broker_config()))

    names = [row.name for row in rows]
    assert len(names) == len(set(names))
    assert set(names) == kafkas | settings_of(TrioSettings).keys()
    by_fact = {fact["name"]: fact for fact in facts["broker"]}
    for row in rows:
        if row.name in kafkas:
            fact = by_fact[row.name]
            assert row.read_only == (fact["update"] == "read-only")
            assert row.sensitive == (fact["type"] == "password")
            assert row.kind.name.lower() == fact["type"]
            if row.name not in EMBEDDED:
                assert row.value == fact["default"]


def test_authorizer_settings_are_described_only_when_they_were_set():
    broker = Layers(config=broker_config({"super.users": "User:a"}))

    assert only_row(describe_broker(broker, ["super.users"])).value == "User:a"
    assert describe_broker(broker, ["allow.everyone.if.no.acl.found"]) == []


def test_a_stored_value_of_client_metrics_that_cannot_be_parsed_counts_as_not_set():
    texts = {"interval.ms": "often", "metrics": "a,a", "match": "client_id=c", "unknown": "1"}

    rows = describe_client_metrics(texts, Layers(config=broker_config()))

    assert {row.name: (row.value, row.source) for row in rows} == {
        "interval.ms": ("300000", Source.DEFAULT),
        "match": ("client_id=c", Source.CLIENT_METRICS),
        "metrics": ("", Source.DEFAULT),
    }
    assert [len(row.synonyms) for row in rows if row.name != "match"] == [0, 0]
