"""Kafka's system tests of security (kafkatest.tests.core: security, authorizer, delegation tokens).

Kerberos and TLS between brokers are left out: users log in by PLAIN, and there is one broker.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.broker.sasl import PACKAGE
from tests.certificates import authority, server, write_pem
from tests.clients.kafka_tools.jvm import Done, ask_tool
from tests.clients.system.conftest import Starts
from tests.clients.system.test_consumers import acknowledged
from tests.clients.system.verifiable import JAVA, OURS, Group, Member, Program
from tests.e2e.clients import new_topic
from tests.installed import APACHE_KAFKA, need_or_skip
from trio_kafka.config.authorizer import STANDARD
from trio_kafka.testing.ports import unused_port
from trio_kafka.testing.processes import BrokerProcess, broker_process

pytestmark = [pytest.mark.long, pytest.mark.slow, pytest.mark.timeout(300)]

MESSAGES: Final = 5
PLAIN: Final = f"{PACKAGE}.plain.PlainLoginModule required"
SCRAM: Final = f"{PACKAGE}.scram.ScramLoginModule required"


class Cluster:
    """A broker that is restarted with other settings, on its data and its ports.

    protocol: of a second listener, whose clients are tested.
    """

    def __init__(self, directory: Path, protocol: str) -> None:
        self.directory = directory
        self.ports = unused_port(), unused_port()
        self.bootstrap = f"127.0.0.1:{self.ports[1]}"
        self._protocol = protocol

    @contextmanager
    def running(self, *settings: str) -> Iterator[BrokerProcess]:
        """The broker, reached by its open listener, for the duration of the block."""
        plain, other = self.ports
        listeners = f"PLAINTEXT://127.0.0.1:{plain},{self._protocol}://127.0.0.1:{other}"
        with broker_process(
            self.directory, f"listeners={listeners}", *settings, port=plain
        ) as broker:
            yield broker

    def client_file(self, name: str, *lines: str) -> str:
        """A properties file of a client."""
        file = self.directory / f"{name}.properties"
        file.write_text("\n".join((f"security.protocol={self._protocol}", *lines)))
        return str(file)

    def tool(self, name: str, file: str, *arguments: str) -> Done:
        return ask_tool(
            name, "--bootstrap-server", self.bootstrap, "--command-config", file, *arguments
        )

    def producer(self, starts: Starts, topic: str, file: str, count: int = MESSAGES) -> Program:
        options = ["--bootstrap-server", self.bootstrap, "--topic", topic, "--throughput", "20"]
        options += ["--max-messages", str(count), "--command-config", file]
        return _started(starts, "producer", options)

    def member(self, starts: Starts, topic: str, file: str) -> Member:
        options = ["--bootstrap-server", self.bootstrap, "--topic", topic, "--group-id", topic]

        def start(more: Sequence[str]) -> Program:
            return _started(starts, "consumer", [*options, "--command-config", file, *more])

        member = Member(start, [])
        member.begin()
        return member


def _started(starts: Starts, role: str, options: list[str]) -> Program:
    program = Program(starts.kind, role, options, starts.log)
    starts.programs.append(program)
    return program


def check_messages_go_through(
    cluster: Cluster, starts: Starts, topic: str, file: str, count: int = MESSAGES
) -> None:
    """A producer writes and a member reads: the validation of Kafka's end-to-end tests."""
    acknowledged(cluster.producer(starts, topic, file, count), count)
    group = Group([cluster.member(starts, topic, file)])
    group.members[0].now.wait_until(lambda: group.total() >= count, "the records are not read")
    group.members[0].now.end()


@pytest.fixture(params=[OURS, JAVA])
def kind(request: pytest.FixtureRequest) -> str:
    need_or_skip(*APACHE_KAFKA)  # tools of Kafka are asked with clients of either kind
    return str(request.param)


def test_clients_reject_a_certificate_of_another_host_until_the_broker_has_its_own(
    starts: Starts, tmp_path: Path
) -> None:
    cluster = Cluster(tmp_path, "SSL")
    ca = tmp_path / "ca.pem"
    ca.write_text(authority().pem)
    file = cluster.client_file("client", "ssl.truststore.type=PEM", f"ssl.truststore.location={ca}")
    keystore = tmp_path / "broker.pem"
    tls = "ssl.keystore.type=PEM", f"ssl.keystore.location={keystore}"

    write_pem(server("broker", ("invalidhostname",)), keystore)
    with cluster.running(*tls) as broker:
        topic = new_topic(broker)
        producer = cluster.producer(starts, topic, file)
        producer.wait_until(lambda: bool(producer.all("producer_send_error")), "no error")
        assert producer.all("producer_send_success") == []
        shown = str(producer.all("producer_send_error")[0])
        assert re.search("SslAuthenticationException|certificate|Certificate", shown), shown
        if not producer.has_ended:
            producer.end(is_clean=False)

    write_pem(server(), keystore)
    with cluster.running(*tls):
        check_messages_go_through(cluster, starts, topic, file)


def test_an_authorizer_denies_quotas_until_an_entry_allows_them(tmp_path: Path) -> None:
    need_or_skip(*APACHE_KAFKA)
    cluster = Cluster(tmp_path, "SASL_PLAINTEXT")
    users = f'{PLAIN} user_client="c" user_admin="a";'
    sasl = (
        "sasl.enabled.mechanisms=PLAIN",
        f"listener.name.sasl_plaintext.plain.sasl.jaas.config={users}",
    )
    files = {
        user: cluster.client_file(
            user,
            "sasl.mechanism=PLAIN",
            f'sasl.jaas.config={PLAIN} username="{user}" password="{user[0]}";',
        )
        for user in ("client", "admin")
    }

    def alter_quotas() -> Done:
        words = ("--entity-type", "clients", "--entity-name", "foo", "--alter")
        more = ("--add-config", "consumer_byte_rate=10000")
        return cluster.tool("kafka.admin.ConfigCommand", files["client"], *words, *more)

    def change_acls(verb: str, *more: str) -> Done:
        words = (verb, "--cluster", "--operation", "AlterConfigs", *more)
        return cluster.tool(
            "AclCommand", files["admin"], *words, "--allow-principal", "User:client"
        )

    with cluster.running(*sasl):
        assert alter_quotas().status == 0
    with cluster.running(*sasl, f"authorizer.class.name={STANDARD}", "super.users=User:admin"):
        refused = alter_quotas()
        assert refused.status != 0
        assert "ClusterAuthorizationException" in refused.errors
        assert change_acls("--add").status == 0
        allowed = alter_quotas()
        assert allowed.status == 0, allowed
        assert change_acls("--remove", "--force").status == 0
        assert alter_quotas().status != 0


def test_a_delegation_token_logs_in_from_its_creation_until_it_expires(
    starts: Starts, tmp_path: Path
) -> None:
    cluster = Cluster(tmp_path, "SASL_PLAINTEXT")
    settings = (
        "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256",
        f'listener.name.sasl_plaintext.plain.sasl.jaas.config={PLAIN} user_owner="o";',
        "delegation.token.secret.key=test12345",
        "delegation.token.max.lifetime.ms=604800000",
        "delegation.token.expiry.time.ms=86400000",
    )
    owner = cluster.client_file(
        "owner",
        "sasl.mechanism=PLAIN",
        f'sasl.jaas.config={PLAIN} username="owner" password="o";',
    )

    def tokens(*words: str) -> str:
        done = cluster.tool("org.apache.kafka.tools.DelegationTokenCommand", owner, *words)
        assert done.status == 0, done
        return done.printed

    with cluster.running(*settings) as broker:
        topic = new_topic(broker)
        row = re.search(
            r"^(\S{22}) +(\S{88}) ",
            tokens("--create", "--max-life-time-period", "-1"),
            re.MULTILINE,
        )
        assert row is not None
        token_id, password = row.groups()
        tokens("--renew", "--renew-time-period", "-1", "--hmac", password)
        file = cluster.client_file(
            "token",
            "sasl.mechanism=SCRAM-SHA-256",
            f'sasl.jaas.config={SCRAM} username="{token_id}" password="{password}"'
            ' tokenauth="true";',
        )
        check_messages_go_through(cluster, starts, topic, file, count=1)

        tokens("--expire", "--expiry-time-period", "-1", "--hmac", password)
        producer = cluster.producer(starts, topic, file, count=1)
        producer.wait_until(lambda: bool(producer.all("producer_send_error")), "no error")
        assert producer.all("producer_send_success") == []
