"""A setting that is declared is obeyed by a part, or it is said that it is not."""

import re

import attrs

from tests.project.tree import ROOT, modules
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.oauth import OF_LISTENERS
from trio_kafka.config.setting import Setting, settings_of
from trio_kafka.config.topic import TopicConfig
from trio_kafka.config.unsupported import UNSUPPORTED_FIELDS, UNSUPPORTED_TOPIC_SETTINGS
from trio_kafka.security.tls.settings import TlsSettings, name_of

BROKER, TOPIC = settings_of(BrokerConfig), settings_of(TopicConfig)
# Obeyed by the configuration itself: they make its listeners and directories, refuse
# the start, or bound the settings of groups.
BY_CONFIG = {
    "advertised.listeners",
    "broker.id",
    "config.providers",
    "control.plane.listener.name",
    "controller.listener.names",
    "controller.quorum.bootstrap.servers",
    "controller.quorum.voters",
    "group.consumer.max.assignment.interval.ms",
    "group.consumer.max.heartbeat.interval.ms",
    "group.consumer.max.session.timeout.ms",
    "group.consumer.min.assignment.interval.ms",
    "group.consumer.min.heartbeat.interval.ms",
    "group.consumer.min.session.timeout.ms",
    "inter.broker.listener.name",
    "listener.security.protocol.map",
    "listeners",
    "log.dir",
    "log.dirs",
    "metadata.log.dir",
    "num.network.threads",
    "process.roles",
    *OF_LISTENERS,
    "connections.max.reauth.ms",
    "sasl.enabled.mechanisms",
    "sasl.jaas.config",
    "sasl.server.max.receive.size",
    "security.inter.broker.protocol",
}
# Read together, as the fields of one value; a client's alone is without an effect for a broker.
OF_CLIENTS = {"ssl.endpoint.identification.algorithm"}
OF_TLS = ({name_of(field.name) for field in attrs.fields(TlsSettings)} - OF_CLIENTS) | {
    f"ssl.{name}" for name in ("principal.mapping.rules", "allow.dn.changes", "allow.san.changes")
}
SOURCES = "\n".join(
    (ROOT / module).read_text()
    for module in modules()
    if module.parts[1] not in ("config", "testing") and module.parts[0] != "admin_ui"
)


def is_read(setting: Setting) -> bool:
    if setting.name in OF_TLS:
        return True
    return re.search(rf"\.{setting.field}\b", SOURCES) is not None


REFUSED = {"remote.storage.enable"}
UNREAD_OF_TOPICS = {name for name, setting in TOPIC.items() if not is_read(setting)} - REFUSED
OF_TOPICS = {
    name
    for topic, setting in TOPIC.items()
    if topic not in UNREAD_OF_TOPICS
    for name, _ in setting.server
}


def test_every_broker_setting_is_used_or_listed_as_unsupported() -> None:
    read = {name for name, setting in BROKER.items() if is_read(setting)}

    assert BROKER.keys() - read - OF_TOPICS - BY_CONFIG == UNSUPPORTED_FIELDS


def test_every_topic_setting_is_used_or_listed_as_unsupported() -> None:
    assert UNSUPPORTED_TOPIC_SETTINGS.keys() == UNREAD_OF_TOPICS
