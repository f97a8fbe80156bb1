"""Settings and features, changed by clients and tools while a broker runs; a kill keeps them."""

from collections.abc import Callable, Sequence

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ResourceType,
)

from tests.clients.kafka_tools.jvm import AskTool
from tests.e2e.clients import new_topic, settings
from trio_kafka.testing.processes import BrokerProcess

WAIT_S = 30
RETENTION, POLICY, LARGEST = "retention.ms", "cleanup.policy", "max.message.bytes"


def described(broker: BrokerProcess, kind: ResourceType, name: str) -> dict[str, ConfigEntry]:
    resource = ConfigResource(kind, name)
    admin = AdminClient(settings(broker))  # kept: what it still has to do ends with it
    return dict(admin.describe_configs([resource])[resource].result(WAIT_S))


def incrementally(
    broker: BrokerProcess, kind: ResourceType, name: str, *changes: tuple[str, str, str | None]
) -> None:
    """Each change is an operation, a setting and a value."""
    entries = [
        ConfigEntry(setting, value, incremental_operation=AlterConfigOpType[operation])
        for operation, setting, value in changes
    ]
    resource = ConfigResource(kind, name, incremental_configs=entries)
    admin = AdminClient(settings(broker))
    admin.incremental_alter_configs([resource])[resource].result(WAIT_S)


def test_librdkafka_changes_and_describes_settings(shared_broker: BrokerProcess) -> None:
    topic = new_topic(shared_broker)

    incrementally(
        shared_broker,
        ResourceType.TOPIC,
        topic,
        ("SET", RETENTION, "5000"),
        ("APPEND", POLICY, "compact"),
    )
    first = described(shared_broker, ResourceType.TOPIC, topic)
    incrementally(
        shared_broker,
        ResourceType.TOPIC,
        topic,
        ("DELETE", RETENTION, None),
        ("SUBTRACT", POLICY, "compact"),
    )
    second = described(shared_broker, ResourceType.TOPIC, topic)

    assert (first[RETENTION].value, first[POLICY].value) == ("5000", "delete,compact")
    assert first[RETENTION].source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    assert list(first[RETENTION].synonyms) == [RETENTION]
    assert (second[RETENTION].value, second[POLICY].value) == ("604800000", "delete")
    assert second[RETENTION].source == ConfigSource.DEFAULT_CONFIG.value


@pytest.mark.filterwarnings("ignore:alter_configs:DeprecationWarning")
def test_librdkafka_sets_all_settings_of_a_topic(shared_broker: BrokerProcess) -> None:
    topic = new_topic(shared_broker, retention_ms="1", segment_bytes="2000000")
    resource = ConfigResource(ResourceType.TOPIC, topic, set_config={RETENTION: "7"})

    admin = AdminClient(settings(shared_broker))
    admin.alter_configs([resource])[resource].result(WAIT_S)

    result = described(shared_broker, ResourceType.TOPIC, topic)
    assert (result[RETENTION].value, result["segment.bytes"].value) == ("7", "1073741824")


@pytest.mark.parametrize(
    ("name", "setting", "value"),
    [("t", RETENTION, "soon"), ("t", "no.such", "1"), ("none", RETENTION, "1")],
)
def test_librdkafka_gets_an_error_for_an_invalid_setting_or_unknown_topic(
    shared_broker: BrokerProcess, name: str, setting: str, value: str
) -> None:
    topic = new_topic(shared_broker)
    name = topic if name == "t" else name

    with pytest.raises(KafkaException) as caught:
        incrementally(shared_broker, ResourceType.TOPIC, name, ("SET", setting, value))

    assert caught.value.args[0].name() in ("INVALID_CONFIG", "UNKNOWN_TOPIC_OR_PART")


def refused(broker: BrokerProcess, topic: str, size: int) -> bool:
    """Whether a record of so many bytes is too large for a topic."""
    errors: list[str] = []
    producer = Producer(settings(broker))
    producer.produce(
        topic, bytes(size), on_delivery=lambda error, _: errors.append(str(error and error.name()))
    )
    producer.flush(WAIT_S)
    return {"MSG_SIZE_TOO_LARGE": True, "None": False}[errors[0]]


@pytest.mark.slow
def test_changed_settings_survive_a_kill_of_the_broker(
    own_broker: BrokerProcess, restart: Callable[[BrokerProcess], BrokerProcess]
) -> None:
    topic, other = new_topic(own_broker), new_topic(own_broker)
    incrementally(own_broker, ResourceType.TOPIC, topic, ("SET", LARGEST, "2000"))
    incrementally(own_broker, ResourceType.BROKER, "1", ("SET", "message.max.bytes", "9000"))
    incrementally(own_broker, ResourceType.BROKER, "1", ("SET", "num.io.threads", "11"))

    def refusals(broker: BrokerProcess) -> list[bool]:
        threads = described(broker, ResourceType.BROKER, "1")["num.io.threads"]
        assert (threads.value, threads.is_read_only) == ("11", False)
        return [refused(broker, topic, 5000), refused(broker, other, 5000)]

    assert refusals(own_broker) == [True, False]
    own_broker.process.kill()
    own_broker.process.wait()

    assert refusals(restart(own_broker)) == [True, False]


def tool(kafka_tool: AskTool, broker: BrokerProcess, name: str, *arguments: str) -> str:
    """Output of one of Kafka's tools; AssertionError if it fails."""
    done = kafka_tool(name, "--bootstrap-server", broker.bootstrap, *arguments)
    assert done.status == 0, done.printed + done.errors
    return done.printed


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_kafka_configs_changes_and_describes_brokers_and_loggers(
    own_broker: BrokerProcess, kafka_tool: AskTool
) -> None:
    def configs(kind: str, *arguments: str, of: Sequence[str] = ("--entity-name", "1")) -> str:
        entity = ("--entity-type", kind, *of)
        return tool(kafka_tool, own_broker, "kafka.admin.ConfigCommand", *entity, *arguments)

    configs("brokers", "--alter", "--add-config", "log.retention.ms=7000", of=["--entity-default"])
    configs("brokers", "--alter", "--add-config", "log.retention.ms=6000,num.io.threads=9")
    configs("broker-loggers", "--alter", "--add-config", "root=ERROR")

    brokers, loggers = configs("brokers", "--describe"), configs("broker-loggers", "--describe")
    assert (
        "log.retention.ms=6000 sensitive=false synonyms={DYNAMIC_BROKER_CONFIG:log.retention.ms="
        "6000, DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.ms=7000, "
        "DEFAULT_CONFIG:log.retention.hours=168}"
    ) in brokers
    assert "num.io.threads=9 sensitive=false" in brokers
    assert "root=ERROR sensitive=false" in loggers


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_kafka_features_lowers_and_describes_levels(
    own_broker: BrokerProcess, kafka_tool: AskTool
) -> None:
    lowered = tool(
        kafka_tool, own_broker, "FeatureCommand", "downgrade", "--feature", "share.version=1"
    )
    rows = tool(kafka_tool, own_broker, "FeatureCommand", "describe").splitlines()

    assert "was downgraded to 1" in lowered
    levels = {row.split()[1]: row.split("FinalizedVersionLevel:")[1].split()[0] for row in rows}
    assert (levels["share.version"], levels["kraft.version"]) == ("1", "1")
    assert levels["group.version"] == "1"
