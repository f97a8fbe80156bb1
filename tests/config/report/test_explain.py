import pytest

from tests.lanes import together
from trio_kafka.config.catalogue import every_setting
from trio_kafka.config.dynamic import Layers
from trio_kafka.config.load import load, options
from trio_kafka.config.report.explain import (
    HIDDEN,
    UNSET,
    explain_broker,
    explain_topic,
    shown_value,
)
from trio_kafka.config.topic import TOPIC_SETTINGS


class Machine:
    variables = {"RACK": "secret"}  # noqa: RUF012


def layers(*arguments):
    return Layers(config=load(options(arguments), outside=Machine()).config)


def explanation_of(name, *arguments):
    return dict(explain_broker(name, layers(*arguments)))


def test_the_explanation_of_a_setting_has_all_its_fields():
    assert explanation_of("log.retention.ms", "log.retention.ms=5") == {
        "what": "Retention time of records; -1: unlimited.",
        "type": "long, in ms",
        "default": UNSET,
        "value": "5",
        "source": "from -c",
        "changed": "while the broker runs, for one broker or all",
        "support": "is supported",
        "or": (
            "the first of log.retention.ms, log.retention.minutes, log.retention.hours"
            " that is given"
        ),
        "topics": "gives the default of a topic's retention.ms",
    }


@pytest.mark.parametrize(
    ("name", "label", "text"),
    [
        ("num.partitions", "bounds", "at least 1"),
        ("compression.gzip.level", "bounds", "1 to 9 or -1"),
        ("compression.type", "bounds", "one of uncompressed, zstd, lz4, snappy, gzip, producer"),
        ("log.cleanup.policy", "bounds", "any of compact, delete"),
        ("process.roles", "bounds", "any of broker, controller"),
        ("process.roles", "default", "none: must be set where process.roles is"),
        ("process.roles", "value", "broker,controller"),
        (
            "group.consumer.migration.policy",
            "bounds",
            "one of DISABLED, DOWNGRADE, UPGRADE, BIDIRECTIONAL in any case",
        ),
        ("log.dirs", "bounds", "not empty"),
        ("controller.quorum.voters", "value", '""'),
        ("num.partitions", "source", "the default"),
        ("num.partitions", "changed", "when the broker starts"),
        ("listeners", "changed", "while the broker runs, for one broker"),
        ("ssl.provider", "support", "does not apply here: it is about the Java runtime"),
        ("broker.id", "support", "is supported; deprecated: use node.id"),
        (
            "listener.name.a.num.io.threads",
            "support",
            "is not supported yet: listeners cannot have values of their own",
        ),
        ("listener.name.a.num.network.threads", "support", "is supported"),
        (
            "listener.name.a.ssl.key.password",
            "support",
            "is supported",
        ),
    ],
)
def test_each_field_of_an_explanation_has_the_expected_text(name, label, text):
    assert explanation_of(name)[label] == text


def test_an_explanation_hides_secrets_and_shows_provider_variables_as_written():
    assert explanation_of("ssl.key.password", "ssl.key.password=x")["value"] == HIDDEN
    assert explanation_of("ssl.key.password")["value"] == UNSET
    explanation = explanation_of("broker.rack", "config.providers=env", "broker.rack=${env:RACK}")
    assert explanation["value"] == "${env:RACK}"
    assert "secret" not in str(explanation)


@together(every_setting())
def test_every_broker_setting_can_be_explained(name):
    explanation = explanation_of(name)

    assert explanation.keys() >= {"what", "type", "default", "value", "changed", "support"}
    assert all(explanation.values())
    assert shown_value(name, layers())


@together(TOPIC_SETTINGS)
def test_every_topic_setting_can_be_explained(name):
    explanation = dict(explain_topic(name, layers()))

    assert all(explanation.values())
    assert explanation["changed"] == "while the broker runs, for one topic"


def test_an_explained_topic_setting_shows_the_value_of_the_broker():
    explanation = dict(explain_topic("retention.ms", layers("log.retention.hours=1")))

    assert explanation["value"] == "3600000"
    assert explanation["support"] == "is supported"
    assert explanation["broker"] == (
        "its default is that of log.retention.ms, log.retention.minutes, log.retention.hours"
    )
    assert dict(explain_topic("local.retention.ms", layers()))["support"].startswith(
        "is not supported yet: "
    )


def test_explaining_an_unknown_setting_raises_key_error():
    with pytest.raises(KeyError):
        explanation_of("nothing")
