import json
import re
from pathlib import Path

from tests.config.report.page import document
from tests.project.tree import ROOT
from trio_kafka.config.plugins import HOST_SETTINGS
from trio_kafka.config.setting import settings_of
from trio_kafka.config.tls import TlsBrokerSettings
from trio_kafka.config.trio_settings import TrioSettings
from trio_kafka.config.unsupported import tables

DATA = Path(__file__).parents[1] / "data"
FACTS = json.loads((DATA / "kafka-4.4-configs.json").read_text())
OTHERS = [table for table in tables() if table.names]
OTHER_NAMES = json.loads((DATA / "kafka-4.4-other-names.json").read_text())


def test_the_configuration_page_is_up_to_date_with_the_declarations():
    assert (ROOT / "docs" / "reference" / "configuration.md").read_text() == document(), (
        "python -m tests.config.report.page > docs/reference/configuration.md"
    )


def test_every_broker_and_topic_setting_of_kafka_has_one_row():
    head, _, topics = document().partition("## Topics\n")
    rows = re.findall(r"^\| `([^`]+)` \| [a-z]+ \|", head, re.MULTILINE)
    of_topics = re.findall(r"^\| `([^`]+)` \|", topics, re.MULTILINE)

    brokers = [fact["name"] for fact in FACTS["broker"] + FACTS["brokerDynamicOnly"]]
    own = settings_of(TrioSettings).keys() - settings_of(TlsBrokerSettings).keys()
    of_authorizer = ["super.users", "allow.everyone.if.no.acl.found"]
    assert sorted(rows) == sorted([*brokers, *of_authorizer, *own, *HOST_SETTINGS])
    assert sorted(of_topics) == sorted(fact["name"] for fact in FACTS["topic"])


def test_every_other_setting_of_kafka_is_named_on_the_page():
    names = {name for section in OTHER_NAMES.values() for name in section}
    listed_names = [name for others in OTHERS for name in others.names]

    assert {name for others in OTHERS for name in others.names} == names
    for others in OTHERS:
        assert list(others.names) == sorted(set(others.names))
        _, _, text = document().partition(f"\n## {others.title}: ")
        assert [name for name in others.names if f"`{name}`" not in text] == []
    assert listed_names
