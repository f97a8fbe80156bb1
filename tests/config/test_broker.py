import json
from pathlib import Path

from tests.lanes import together
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.load import EMBEDDED, broker_config
from trio_kafka.config.setting import Setting, Update, settings_of
from trio_kafka.config.topic import TopicConfig
from trio_kafka.config.trio_settings import TrioSettings
from trio_kafka.config.values import Kind

FACTS = json.loads((Path(__file__).parent / "data" / "kafka-4.4-configs.json").read_text())
BROKER = {row["name"]: row for row in FACTS["broker"]}
TOPIC = {row["name"]: row for row in FACTS["topic"]}
# Kafka declares it elsewhere, as a quota of brokers that is only dynamic.
QUOTA = "replica.alter.log.dirs.io.max.bytes.per.second"
# Kafka's authorizer declares them; they are compared with its documentation.
OF_THE_AUTHORIZER = {
    "super.users": (Kind.STRING, ""),
    "allow.everyone.if.no.acl.found": (Kind.BOOLEAN, False),
}
OURS = (
    settings_of(BrokerConfig).keys()
    - settings_of(TrioSettings).keys()
    - {QUOTA}
    - OF_THE_AUTHORIZER.keys()
)

# Texts of `valid` that are not bounds or choices; what they ask for is tested where it is checked.
IN_WORDS = {
    "non-null string",
    "non-empty list",
    "[partitionId]:[brokerId],[partitionId]:[brokerId],...",
}


def valid(setting: Setting) -> str | None:
    """The bounds of a setting in the notation of the data."""
    if setting.choices:
        return f"[{', '.join(sorted(setting.choices))}]"
    if setting.low is None:
        return None
    high = "" if setting.high is None else f",{setting.high}"
    also = "".join(f" or {value}" for value in setting.also)
    return f"[{setting.low},...{high}]{also}"


def in_order(text):
    """Choices sorted: their order has no meaning."""
    if text is None or text in IN_WORDS:
        return None
    text = text.removeprefix("(case insensitive) ")
    items = text.strip("[]").split(", ")
    return f"[{', '.join(sorted(items))}]" if len(items) > 1 else text


@together(OURS)
def test_each_broker_setting_has_the_type_default_and_bounds_of_kafka(name):
    setting, fact = settings_of(BrokerConfig)[name], BROKER[name]

    assert setting.kind.name.lower() == fact["type"]
    assert setting.required == fact.get("required", False)
    if not setting.required:
        assert setting.show(setting.default) == fact["default"]
    assert valid(setting) == in_order(fact.get("valid"))
    assert setting.update.value == fact["update"]
    assert list(setting.synonyms) == fact.get("synonyms", [])
    assert setting.internal == fact.get("internal", False)
    assert setting.doc.endswith(".")


def test_the_settings_of_the_standard_authorizer_have_its_types_and_defaults():
    for name, (kind, default) in OF_THE_AUTHORIZER.items():
        setting = settings_of(BrokerConfig)[name]
        assert (setting.kind, setting.default) == (kind, default)
        assert setting.update is Update.READ_ONLY


@together(TOPIC)
def test_each_topic_setting_has_the_type_default_and_bounds_of_kafka(name):
    setting, fact = settings_of(TopicConfig)[name], TOPIC[name]

    assert setting.kind.name.lower() == fact["type"]
    assert setting.show(setting.default) == fact["default"]
    assert valid(setting) == in_order(fact.get("valid"))
    assert setting.internal == fact.get("internal", False)
    server = [s if isinstance(s, str) else (s["name"], s["factor"]) for s in fact.get("server", [])]
    assert [(n, f) if f > 1 else n for n, f in setting.server] == server
    assert setting.doc.endswith(".")


def test_topic_settings_are_exactly_the_topic_settings_of_kafka():
    assert settings_of(TopicConfig).keys() == TOPIC.keys()


def test_every_broker_setting_that_defaults_a_topic_setting_is_supported():
    names = {name for s in settings_of(TopicConfig).values() for name, _ in s.server}

    assert names <= OURS


def test_a_node_without_process_roles_is_embedded():
    config = broker_config()

    assert config.embedded
    assert (config.node_id, config.process_roles) == (1, ("broker", "controller"))
    assert config.endpoints.controller == ()
    assert config.offsets_topic_replication_factor == 1
    assert config.transaction_state_log_replication_factor == 1
    assert config.transaction_state_log_min_isr == 1


def test_broker_defaults_except_for_embedded_settings_equal_the_defaults_of_kafka():
    config = broker_config()

    for name in OURS - EMBEDDED.keys():
        setting = settings_of(BrokerConfig)[name]
        assert setting.show(getattr(config, setting.field)) == BROKER[name]["default"]


def test_log_dirs_takes_precedence_over_log_dir():
    assert broker_config().directories == ("/tmp/kafka-logs",)
    assert broker_config({"log.dir": "/a"}).directories == ("/a",)
    assert broker_config({"log.dir": "/a", "log.dirs": "/b, /c"}).directories == ("/b", "/c")


def test_the_metadata_log_uses_the_first_log_directory_unless_metadata_log_dir_is_set():
    assert broker_config({"log.dirs": "/b,/c"}).metadata_directory == "/b"
    assert broker_config({"log.dirs": "/b", "metadata.log.dir": "/m"}).metadata_directory == "/m"


def test_the_repr_of_a_configuration_does_not_contain_secrets():
    assert "hunter2" not in repr(broker_config({"ssl.key.password": "hunter2"}))


def test_an_empty_name_of_the_control_plane_is_none():
    assert broker_config({"control.plane.listener.name": ""}).endpoints.control is None
