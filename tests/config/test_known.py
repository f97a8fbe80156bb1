import json
from pathlib import Path

import pytest

from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.known import KNOWN, MEANINGLESS, NOT_YET, UNHEARD, why_ignored
from trio_kafka.config.setting import settings_of

FACTS = json.loads((Path(__file__).parent / "data" / "kafka-4.4-configs.json").read_text())
BROKER = {r["name"]: r["type"] for r in FACTS["broker"] + FACTS["brokerDynamicOnly"]}
OF_THE_AUTHORIZER = {"super.users": "string", "allow.everyone.if.no.acl.found": "boolean"}


def test_each_setting_of_kafka_is_honoured_or_known_and_not_both():
    honoured = settings_of(BrokerConfig).keys()

    assert KNOWN.keys() == (BROKER.keys() | OF_THE_AUTHORIZER.keys()) - honoured


def test_what_no_part_obeys_is_declared_all_the_same():
    assert settings_of(BrokerConfig).keys() > UNHEARD


def test_known_settings_have_kafkas_types():
    types = BROKER | OF_THE_AUTHORIZER

    assert {name: kind.name.lower() for name, kind in KNOWN.items()} == {
        name: types[name] for name in KNOWN
    }


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("log.cleaner.threads", NOT_YET),
        ("super.users", NOT_YET),
        ("listener.name.internal.ssl.key.password", NOT_YET),
        ("rlmm.config.remote.log.metadata.topic.num.partitions", NOT_YET),
        ("metric.reporters", MEANINGLESS),
        ("fetch.purgatory.purge.interval.requests", MEANINGLESS),
        ("replica.lag.time.max.ms", NOT_YET),
        ("num.io.threads", None),
        ("zookeeper.connect", None),
        ("listener.names", None),
    ],
)
def test_a_setting_without_effect_has_a_reason(name, why):
    assert why_ignored(name) == why
