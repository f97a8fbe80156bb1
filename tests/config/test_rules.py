import pytest

from trio_kafka.config.load import broker_config
from trio_kafka.config.rules import KAFKAS_OWN, reject_unsupported
from trio_kafka.config.setting import ConfigError

ROLES = {
    "process.roles": "broker,controller",
    "node.id": "3",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.bootstrap.servers": "localhost:9093",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
}
JAVA = "names a Java class, which this broker cannot run: leave it out"


@pytest.mark.parametrize(
    ("settings", "name", "reason"),
    [
        (
            {"node.id": "1", "broker.id": "2"},
            "broker.id",
            "2 is not node.id, which is 1: leave it out",
        ),
        (
            ROLES | {"process.roles": "broker"},
            "process.roles",
            "'broker': a node has both roles for now: want broker,controller",
        ),
        (
            ROLES | {"process.roles": "controller"},
            "process.roles",
            "'controller': a node has both roles for now: want broker,controller",
        ),
        (
            ROLES | {"controller.quorum.voters": "3@a:1,4@b:1"},
            "controller.quorum.voters",
            "2 voters: want one, since a cluster has one node for now",
        ),
        (
            ROLES | {"controller.quorum.voters": "3"},
            "controller.quorum.voters",
            "'3' is not ID@HOST:PORT",
        ),
        pytest.param(
            ROLES | {"controller.quorum.voters": "3" * 5000 + "@b:1"},
            "controller.quorum.voters",
            f"'{'3' * 5000}@b:1' is not ID@HOST:PORT",
            id="a voter of 5000 digits",
        ),
        ({"log.dirs": "/a,/b\0"}, "log.dirs", "'/b\\x00' is not the name of a directory"),
        (
            {"metadata.log.dir": "/\ud800"},
            "log.dirs",
            "'/\\ud800' is not the name of a directory",
        ),
        (
            ROLES | {"controller.quorum.voters": "4@b:1"},
            "controller.quorum.voters",
            "the voter is 4, but node.id is 3: use one number",
        ),
        (
            ROLES | {"controller.quorum.bootstrap.servers": "a:1,b:1"},
            "controller.quorum.bootstrap.servers",
            "2 servers: want one, since a cluster has one node for now",
        ),
        (
            ROLES | {"controller.quorum.bootstrap.servers": ""},
            "controller.quorum.bootstrap.servers",
            "must be set, or controller.quorum.voters, since process.roles is set",
        ),
        (
            ROLES | {"controller.listener.names": ""},
            "controller.listener.names",
            "must not be empty: name a listener for the controller",
        ),
        (
            {"max.connections.per.ip": "0"},
            "max.connections.per.ip",
            "0 rejects every connection: set max.connections.per.ip.overrides too",
        ),
        (
            {"max.connections.per.ip.overrides": "h:1,x"},
            "max.connections.per.ip.overrides",
            "'x' is not HOST:COUNT",
        ),
        (
            {
                "inter.broker.listener.name": "PLAINTEXT",
                "security.inter.broker.protocol": "PLAINTEXT",
            },
            "security.inter.broker.protocol",
            "inter.broker.listener.name is set too: remove one of them",
        ),
        (
            {"listeners": "SSL://:9092"},
            "security.inter.broker.protocol",
            "no advertised listener is called PLAINTEXT: set inter.broker.listener.name",
        ),
        (
            {"replica.fetch.wait.max.ms": "40000"},
            "replica.fetch.wait.max.ms",
            "40000 is above replica.socket.timeout.ms, so answers would come too late: lower it",
        ),
        (
            {"replica.fetch.wait.max.ms": "600", "replica.lag.time.max.ms": "500"},
            "replica.fetch.wait.max.ms",
            "600 is above replica.lag.time.max.ms, so waiting would count as lag: lower it",
        ),
        (
            {"broker.session.timeout.ms": "2000"},
            "broker.heartbeat.interval.ms",
            "2000 is not below broker.session.timeout.ms, which is 2000: lower it",
        ),
        (
            {"authorizer.class.name": "org.example.A"},
            "authorizer.class.name",
            (
                "'org.example.A' is a Java class, which this broker cannot run: want"
                " org.apache.kafka.metadata.authorizer.StandardAuthorizer, plugin.<name> for the"
                " authorizer of a plugin, or nothing"
            ),
        ),
        ({"create.topic.policy.class.name": "A"}, "create.topic.policy.class.name", JAVA),
        ({"alter.config.policy.class.name": "A"}, "alter.config.policy.class.name", JAVA),
        ({"client.quota.callback.class": "A"}, "client.quota.callback.class", JAVA),
        ({"principal.builder.class": "A"}, "principal.builder.class", JAVA),
        (
            {"listener.name.plaintext.principal.builder.class": "A"},
            "listener.name.plaintext.principal.builder.class",
            JAVA,
        ),
        ({"ssl.engine.factory.class": "A"}, "ssl.engine.factory.class", JAVA),
        (
            {"sasl.oauthbearer.jwt.validator.class": "A"},
            "sasl.oauthbearer.jwt.validator.class",
            JAVA,
        ),
        (
            {"remote.log.storage.system.enable": "true"},
            "remote.log.storage.system.enable",
            "tiered storage is not supported yet: leave it out",
        ),
    ],
)
def test_unsupported_or_contradictory_settings_are_refused_by_name(settings, name, reason):
    with pytest.raises(ConfigError) as caught:
        broker_config(settings)

    assert (caught.value.name, caught.value.reason) == (name, reason)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"controller.quorum.voters": "3@localhost:9093"},
        {"controller.quorum.bootstrap.servers": "", "controller.quorum.voters": "3@a:1"},
        {"process.roles": "controller, broker"},
        {"broker.id": "3"},
    ],
)
def test_one_node_with_both_roles_is_accepted(more):
    config = broker_config(ROLES | more)

    assert not config.embedded
    assert config.node_id == 3
    assert config.transaction_state_log_replication_factor == 3
    assert [str(e) for e in config.endpoints.controller] == ["CONTROLLER://:9093"]


@pytest.mark.parametrize("text", ["", " ", "false", "False"])
def test_an_unsupported_setting_that_is_empty_or_false_is_accepted(text):
    reject_unsupported("remote.log.storage.system.enable", text)
    reject_unsupported("authorizer.class.name", text)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"queued.max.request.bytes": "0"}, None),
        ({"queued.max.request.bytes": "-1"}, None),
        ({"queued.max.request.bytes": "1"}, "1 is below socket.request.max.bytes"),
        ({"queued.max.request.bytes": "104857599"}, "104857599 is below"),
        ({"queued.max.request.bytes": "104857600"}, None),
        ({"queued.max.request.bytes": "104857601"}, None),
        ({"queued.max.request.bytes": "99", "socket.request.max.bytes": "99"}, None),
        ({"log.cleaner.threads": "0"}, None),
        ({"log.cleaner.threads": "127"}, None),
        ({"log.cleaner.threads": "128"}, "134217728 is too small for 128 threads"),
        ({"log.cleaner.dedupe.buffer.size": "1048577"}, None),
        ({"log.cleaner.dedupe.buffer.size": "1048576"}, "1048576 is too small for 1 threads"),
        ({"max.connections.per.ip": "1"}, None),
        (
            {
                "max.connections.per.ip": "0",
                "max.connections.per.ip.overrides": "127.0.0.1:5,::1:6",
            },
            None,
        ),
        (
            {
                "connection.failed.authentication.delay.ms": "100",
                "connections.max.idle.ms": "101",
            },
            None,
        ),
        (
            {
                "connection.failed.authentication.delay.ms": "100",
                "connections.max.idle.ms": "100",
            },
            "100 is not below connections.max.idle.ms",
        ),
        (
            {
                "connection.failed.authentication.delay.ms": "100",
                "connections.max.idle.ms": "-1",
            },
            None,
        ),
    ],
)
def test_cross_setting_rules_of_kafka_are_checked(settings, reason):
    if reason is None:
        broker_config(settings)
    else:
        with pytest.raises(ConfigError, match=reason):
            broker_config(settings)


@pytest.mark.parametrize(("name", "classes"), KAFKAS_OWN.items())
def test_kafkas_own_class_is_accepted_where_another_one_is_refused(name, classes):
    for text in classes:
        reject_unsupported(name, text)
        reject_unsupported(f"listener.name.a.{name}", f" {text} ")
        with pytest.raises(ConfigError, match="names a Java class"):
            reject_unsupported(name, f"{text}X")
