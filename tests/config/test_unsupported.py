"""The table of settings without an effect, held to Kafka's own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.config.test_broker import in_order, valid
from tests.lanes import together
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.setting import ConfigError, settings_of
from trio_kafka.config.unsupported import (
    UNSUPPORTED_FIELDS,
    Support,
    support,
    unsupported_settings,
    why_unsupported,
)

FACTS = json.loads((Path(__file__).parent / "data" / "kafka-4.4-configs.json").read_text())
OF_THE_AUTHORIZER = {
    "super.users": {"type": "string", "default": "", "update": "read-only"},
    "allow.everyone.if.no.acl.found": {
        "type": "boolean",
        "default": "false",
        "update": "read-only",
    },
}
BROKER = {r["name"]: r for r in FACTS["broker"] + FACTS["brokerDynamicOnly"]} | OF_THE_AUTHORIZER
UNSUPPORTED = unsupported_settings()


def test_each_kafka_setting_is_either_supported_or_declared_unsupported():
    honoured = settings_of(BrokerConfig).keys()

    assert UNSUPPORTED.keys() == BROKER.keys() - honoured


def test_unsupported_fields_are_declared_in_the_broker_configuration():
    assert settings_of(BrokerConfig).keys() > UNSUPPORTED_FIELDS


@together(UNSUPPORTED)
def test_each_unsupported_setting_has_the_type_default_and_bounds_of_kafka(name):
    setting, fact = UNSUPPORTED[name], BROKER[name]

    assert setting.kind.name.lower() == fact["type"]
    assert setting.text_of(setting.default) == fact["default"]
    words, bounds = in_words(fact.get("valid"))
    assert words == {word for word in ("any_case", "not_empty") if getattr(setting, word)}
    assert valid(setting) == in_order(bounds)
    assert setting.update.value == fact["update"]
    assert setting.internal == fact.get("internal", False)
    assert setting.sensitive == (fact["type"] == "password")
    assert list(setting.synonyms) == fact.get("synonyms", [])
    assert setting.doc.endswith(".")


def in_words(text):
    """Conditions in the bounds beside numbers and choices, and the rest of the bounds."""
    if text in ("non-null string", "non-empty string"):
        return ({"not_empty"} if "empty" in text else set()), None
    if text and text.startswith("(case insensitive) "):
        return {"any_case"}, text.removeprefix("(case insensitive) ")
    return set(), text


@together(UNSUPPORTED)
def test_each_unsupported_setting_has_a_reason(name):
    status, why = support(name)

    assert status in (Support.NOT_YET, Support.NOT_APPLICABLE)
    assert why
    assert not why.endswith(".")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("ssl.provider", "does not apply here: it is about the Java runtime"),
        ("rlmm.config.any", "is not supported yet: tiered storage is not implemented"),
        (
            "metric.reporters",
            "does not apply here: it is about Java classes, which do not run here",
        ),
        (
            "fetch.purgatory.purge.interval.requests",
            "does not apply here: what is done leaves its purgatory at once",
        ),
        (
            "replica.lag.time.max.ms",
            "is not supported yet: there are no followers while a cluster has one broker",
        ),
        ("num.io.threads", None),
        ("zookeeper.connect", None),
        ("listener.names", None),
    ],
)
def test_the_reason_for_an_unsupported_setting_has_the_expected_text(name, why):
    assert why_unsupported(name) == why


def test_the_tables_of_unsupported_settings_are_loaded_only_when_needed():
    code = """
from trio_kafka.config.load import broker_config
from trio_kafka.config.unsupported import tables
broker_config({"num.partitions": "3", "log.preallocate": "true", "plugin.a.b": "c"})
assert not tables.cache_info().currsize
broker_config({"ssl.provider": "A"})
assert tables.cache_info().currsize
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("text", ["DISABLED", "disabled", "Bidirectional"])
def test_the_group_migration_policy_is_accepted_in_any_case(text):
    assert settings_of(BrokerConfig)["group.consumer.migration.policy"].parse(text) == text


def test_other_choices_are_case_sensitive_and_unknown_policies_are_refused():
    with pytest.raises(ConfigError, match="is not one of required, requested, none"):
        settings_of(BrokerConfig)["ssl.client.auth"].parse("Required")
    with pytest.raises(ConfigError, match="is not one of DISABLED"):
        settings_of(BrokerConfig)["group.consumer.migration.policy"].parse("any")
