"""The client against Apache Kafka 4.4: TLS, SASL, fetches, offsets, transactions."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
import trio
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AdminClient,
    NewTopic,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from tests.benchmarks.brokers import SCRIPTS
from tests.installed import APACHE_KAFKA, need_or_skip
from tests.security.tokens.endpoint import token_endpoint
from tests.security.tokens.kit import ISSUER, key_set, public_row, token
from tests.trio_kafka_spark.client.certificates import Identity, authority, issued
from trio_kafka.attributes import frozen
from trio_kafka.clients import ProducerRecord, open_producer
from trio_kafka.clients.admin.topic_values import NewTopic as AdminTopic
from trio_kafka.clients.blocking import open_admin
from trio_kafka.model import TopicPartition
from trio_kafka.records.header import iterate_headers
from trio_kafka.testing.ports import LOOPBACK, unused_port
from trio_kafka.testing.processes import BrokerProcess, broker_process
from trio_kafka_spark.client.cluster import EARLIEST, LATEST, Cluster
from trio_kafka_spark.client.errors import AuthenticationError, OffsetOutOfRangeError, SourceError
from trio_kafka_spark.client.fetch import fetch
from trio_kafka_spark.client.settings import ClientSettings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
TP = TopicPartition("plain", 0)
SECURITY = "org.apache.kafka.common.security"
PLAIN = f'{SECURITY}.plain.PlainLoginModule required username="alice" password="wonder,land";'
SCRAM = f'{SECURITY}.scram.ScramLoginModule required username="b=o,b" password="b\\"uilder";'
OAUTH = f'{SECURITY}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="c";'


@frozen(kw_only=True)
class Kafka:
    """A broker with a listener for each security protocol."""

    process: BrokerProcess
    ports: dict[str, int]
    authority: Identity
    client: Identity
    directory: Path

    def options(self, protocol: str, **more: str) -> dict[str, str]:
        result = {
            "kafka.bootstrap.servers": f"{LOOPBACK}:{self.ports[protocol]}",
            "kafka.security.protocol": protocol,
            "kafka.default.api.timeout.ms": "20000",
        }
        if protocol in ("SSL", "SASL_SSL"):
            result["kafka.ssl.truststore.certificates"] = self.authority.pem
            result["kafka.ssl.truststore.type"] = "PEM"
        return result | {f"kafka.{name.replace('_', '.')}": value for name, value in more.items()}


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    need_or_skip(*APACHE_KAFKA)
    directory = tmp_path_factory.mktemp("kafka")
    stack = ExitStack()
    ca = authority()
    store = issued(ca, "broker").write_pem(directory / "broker.pem")
    trust = directory / "ca.pem"
    trust.write_text(ca.pem)
    names = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
    ports = {name: unused_port() for name in names}

    def command(port: int, data: Path, settings: Sequence[str]) -> list[str]:
        controller = unused_port()
        all_ports = ports | {"CONTROLLER": controller, "PLAINTEXT": port}
        ports["PLAINTEXT"] = port
        listeners = [
            f"{name}://{LOOPBACK}:{listener_port}" for name, listener_port in all_ports.items()
        ]
        advertised = ",".join(
            listener for listener in listeners if not listener.startswith("CONTROLLER")
        )
        more = [
            f"listeners={','.join(listeners)}",
            f"advertised.listeners={advertised}",
            "listener.security.protocol.map=CONTROLLER:PLAINTEXT,"
            + ",".join(f"{name}:{name}" for name in names),
        ]
        script = str(SCRIPTS / "serve.sh")
        return [script, str(port), str(controller), str(data), *settings, *more]

    mechanisms = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER"
    modules = {
        "plain": f'{SECURITY}.plain.PlainLoginModule required user_alice="wonder,land";',
        "scram-sha-256": f"{SECURITY}.scram.ScramLoginModule required;",
        "scram-sha-512": f"{SECURITY}.scram.ScramLoginModule required;",
        "oauthbearer": OAUTH,
    }
    keys = directory / "keys.json"
    keys.write_bytes(key_set(public_row("RS256", "k")))
    signed = "listener.name.sasl_ssl.oauthbearer.sasl"
    handler = f"{SECURITY}.oauthbearer.OAuthBearerValidatorCallbackHandler"
    settings = [
        f"{signed}.server.callback.handler.class={handler}",
        f"{signed}.oauthbearer.jwks.endpoint.url={keys.as_uri()}",
        f"{signed}.oauthbearer.expected.audience=kafka",
        f"{signed}.oauthbearer.expected.issuer={ISSUER}",
        "num.partitions=1",
        f"sasl.enabled.mechanisms={mechanisms}",
        "listener.name.ssl.ssl.client.auth=required",
        "listener.name.sasl_ssl.plain.connections.max.reauth.ms=60000",
        "ssl.keystore.type=PEM",
        f"ssl.keystore.location={store}",
        "ssl.truststore.type=PEM",
        f"ssl.truststore.location={trust}",
        *(
            f"listener.name.{listener}.{mechanism}.sasl.jaas.config={module}"
            for listener in ("sasl_plaintext", "sasl_ssl")
            for mechanism, module in modules.items()
        ),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKA_HEAP_OPTS", "-Xms256m -Xmx512m")
        allowed = "-Dorg.apache.kafka.sasl.oauthbearer.allowed"
        patch.setenv(
            "APACHE_JVM_OPTS", f"-server {allowed}.urls={keys.as_uri()} {allowed}.files={keys}"
        )
        broker = broker_process(
            directory / "broker", *settings, command=command, start_timeout_s=120
        )
        process = stack.enter_context(broker)
    with stack:
        _prepare(process.bootstrap)
        yield Kafka(
            process=process,
            ports=ports,
            authority=ca,
            client=issued(ca, "client", names=()),
            directory=directory,
        )


def signed_token(lifetime_s: int = 600) -> str:
    now_s = int(time.time())
    return token("RS256", iat=now_s, exp=now_s + lifetime_s)


def _prepare(bootstrap: str) -> None:
    """Users of SCRAM; a topic of 1000 records; one with an aborted transaction and an open one."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        info = ScramCredentialInfo(mechanism, 4096)
        change = UserScramCredentialUpsertion("b=o,b", info, b'b"uilder')
        for future in admin.alter_user_scram_credentials([change]).values():
            future.result()
    for future in admin.create_topics(
        [NewTopic("plain", 1, 1), NewTopic("transactions", 1, 1)]
    ).values():
        future.result()
    producer = Producer({"bootstrap.servers": bootstrap, "compression.type": "zstd"})
    for number in range(1000):
        producer.produce("plain", b"%d" % number, timestamp=1_700_000_000_000 + number)
    producer.flush()


def aborted_and_open(bootstrap: str, topic: str) -> Producer:
    """Ten committed records, ten aborted ones, ten of a transaction that stays open."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic})
    producer.init_transactions()
    for end in (producer.commit_transaction, producer.abort_transaction, lambda: None):
        producer.begin_transaction()
        for number in range(10):
            producer.produce(topic, b"%d" % number)
        producer.flush()
        end()
    return producer


def read(options: dict[str, str], tp: TopicPartition = TP) -> int:
    """Records of a whole partition."""
    settings = ClientSettings.from_options(options)
    with Cluster(settings) as cluster:
        start, stop = (cluster.offsets({tp: position})[tp] for position in (EARLIEST, LATEST))
        return sum(
            header.count
            for chunk in fetch(settings, tp, start=start, stop=stop, cluster=cluster)
            for _, header in iterate_headers(chunk.buffer)
            if not header.is_control
        )


def test_a_partition_of_apache_kafka_is_read_over_plaintext(kafka: Kafka) -> None:
    assert read(kafka.options("PLAINTEXT")) == 1000


def test_offsets_of_apache_kafka_are_found_by_timestamp(kafka: Kafka) -> None:
    with Cluster(ClientSettings.from_options(kafka.options("PLAINTEXT"))) as cluster:
        times = (0, 1_700_000_000_500, 1_700_000_001_000)
        assert [cluster.offsets({TP: time})[TP] for time in times] == [0, 500, -1]


def test_a_client_certificate_is_read_from_pem_text_a_pem_file_or_a_pkcs12_file(
    kafka: Kafka,
) -> None:
    client, directory = kafka.client, kafka.directory
    pem = str(client.write_pem(directory / "client.pem", "k3y"))
    p12 = str(client.write_p12(directory / "client.p12", "st0re"))
    trust = str(kafka.authority.write_p12(directory / "trust.p12", "tru5t", with_key=False))
    without = kafka.options("SSL")
    del without["kafka.ssl.truststore.certificates"], without["kafka.ssl.truststore.type"]

    as_text = {
        "kafka.ssl.keystore.type": "PEM",
        "kafka.ssl.keystore.key": client.key_pem(),
        "kafka.ssl.keystore.certificate.chain": client.pem,
    }
    as_pem = {"kafka.ssl.keystore.location": pem, "kafka.ssl.key.password": "k3y"}
    as_p12 = {"kafka.ssl.keystore.location": p12, "kafka.ssl.keystore.password": "st0re"}
    trusting = {"kafka.ssl.truststore.location": trust, "kafka.ssl.truststore.password": "tru5t"}

    assert read(kafka.options("SSL") | as_text) == 1000
    assert read(kafka.options("SSL") | as_pem) == 1000
    assert read(without | trusting | as_p12) == 1000


def test_a_broker_that_requires_a_client_certificate_rejects_a_client_without(kafka: Kafka) -> None:
    with pytest.raises(AuthenticationError, match=r"TLS failed: .*keystore"):
        read(kafka.options("SSL"))


def test_a_connection_uses_the_configured_tls_version_and_cipher_suite(kafka: Kafka) -> None:
    suite = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
    options = kafka.options(
        "SASL_SSL", sasl_mechanism="PLAIN", sasl_jaas_config=PLAIN, ssl_cipher_suites=suite
    )
    settings = ClientSettings.from_options(options)

    with Cluster(settings) as cluster:
        [endpoint] = settings.bootstrap
        tls = cluster.connection(endpoint)._peer._socket
        assert (tls.version(), tls.cipher()[0]) == ("TLSv1.2", "ECDHE-ECDSA-AES256-GCM-SHA384")


@pytest.mark.parametrize(
    ("mechanism", "jaas"),
    [
        ("PLAIN", PLAIN),
        ("SCRAM-SHA-256", SCRAM),
        ("SCRAM-SHA-512", SCRAM),
        ("OAUTHBEARER", OAUTH),
    ],
)
@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_a_client_logs_in_with_each_sasl_mechanism(
    kafka: Kafka, protocol: str, mechanism: str, jaas: str
) -> None:
    if (protocol, mechanism) == ("SASL_SSL", "OAUTHBEARER"):
        jaas = f"{SECURITY}.oauthbearer.OAuthBearerLoginModule required token={signed_token()};"
    options = kafka.options(protocol, sasl_mechanism=mechanism, sasl_jaas_config=jaas)

    assert read(options) == 1000


@pytest.mark.long
def test_all_clients_log_in_with_signed_tokens_of_an_endpoint(kafka: Kafka) -> None:
    lifetimes = [5, 600]

    def answer() -> tuple[int, object]:
        return 200, {"access_token": signed_token(lifetimes[0])}

    async def produce(settings: Mapping[str, object], *, until: int) -> None:
        async with open_producer(settings) as producer:
            while len(endpoint.requests) < until:
                await (await producer.send(ProducerRecord("tokens", b"x"))).wait()
                await trio.sleep(0.1)

    with token_endpoint(answer) as endpoint:
        options = kafka.options(
            "SASL_SSL",
            sasl_mechanism="OAUTHBEARER",
            sasl_jaas_config=f"{SECURITY}.oauthbearer.OAuthBearerLoginModule required"
            " extension_team=a;",
            sasl_oauthbearer_token_endpoint_url=endpoint.url,
            sasl_oauthbearer_client_credentials_client_id="me",
            sasl_oauthbearer_client_credentials_client_secret="s3cret",
        )
        settings = {name.removeprefix("kafka."): value for name, value in options.items()}
        settings.pop("default.api.timeout.ms")
        with open_admin(settings) as admin:
            admin.create_topics([AdminTopic("tokens", num_partitions=1)]).all()
        before = len(endpoint.requests)
        # A session ends with its token: the second one is presented while records are written.
        trio.run(partial(produce, settings, until=before + 2))
        lifetimes.pop(0)

        assert read(options) == 1000
    assert len(endpoint.requests) >= 4


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER"])
def test_wrong_credentials_fail_without_retry_and_the_error_hides_the_password(
    kafka: Kafka, mechanism: str
) -> None:
    jaas = {
        "PLAIN": PLAIN.replace("wonder,land", "s3cret"),
        "SCRAM-SHA-256": SCRAM.replace('b\\"uilder', "s3cret"),
        "OAUTHBEARER": f'{OAUTH[:-1]} unsecuredLoginLifetimeSeconds="-9000";',
    }[mechanism]
    options = kafka.options("SASL_PLAINTEXT", sasl_mechanism=mechanism, sasl_jaas_config=jaas)

    with pytest.raises(AuthenticationError, match=r"\[KAFKA_AUTHENTICATION_FAILED\]") as caught:
        read(options)

    assert "s3cret" not in str(caught.value)


def test_a_connection_whose_sasl_session_expires_soon_is_replaced(kafka: Kafka) -> None:
    options = kafka.options("SASL_SSL", sasl_mechanism="PLAIN", sasl_jaas_config=PLAIN)
    settings = ClientSettings.from_options(options)
    with Cluster(settings) as cluster:
        [endpoint] = settings.bootstrap
        first = cluster.connection(endpoint)
        assert not first.expired
        assert first._session.expires < float("inf")

        first._session.expires = 0.0

        assert cluster.connection(endpoint) is not first


def test_an_error_of_a_wrong_security_protocol_names_the_option(kafka: Kafka) -> None:
    ssl_to_plain = kafka.options("PLAINTEXT") | {"kafka.security.protocol": "SSL"}
    ssl_to_plain["kafka.default.api.timeout.ms"] = "1"
    with pytest.raises(SourceError, match=r"no TLS listener: kafka\.security\.protocol"):
        read(ssl_to_plain)

    plain_to_ssl = kafka.options("SSL") | {"kafka.security.protocol": "PLAINTEXT"}
    with pytest.raises(SourceError, match=r"KAFKA_PROTOCOL_ERROR.*kafka\.security\.protocol"):
        read(plain_to_ssl)

    sasl_to_plain = kafka.options("PLAINTEXT", sasl_mechanism="PLAIN", sasl_jaas_config=PLAIN)
    sasl_to_plain["kafka.security.protocol"] = "SASL_PLAINTEXT"
    with pytest.raises(AuthenticationError, match="does not use SASL"):
        read(sasl_to_plain)


def test_read_committed_ends_at_the_last_stable_offset_with_aborted_transactions(
    kafka: Kafka,
) -> None:
    producer = aborted_and_open(kafka.process.bootstrap, "transactions")
    tp = TopicPartition("transactions", 0)
    committed = kafka.options("PLAINTEXT", isolation_level="read_committed")
    settings = ClientSettings.from_options(committed)
    with Cluster(settings) as cluster:
        stable = cluster.offsets({tp: LATEST})[tp]
        [result] = fetch(settings, tp, start=0, stop=stable, cluster=cluster)
    with Cluster(ClientSettings.from_options(kafka.options("PLAINTEXT"))) as cluster:
        end = cluster.offsets({tp: LATEST})[tp]

    assert (stable, end) == (22, 32)
    [(_, first)] = result.aborted
    assert first == 11
    producer.abort_transaction()


def test_an_offset_after_the_end_of_an_apache_kafka_log_is_out_of_range(kafka: Kafka) -> None:
    settings = ClientSettings.from_options(kafka.options("PLAINTEXT"))

    with pytest.raises(OffsetOutOfRangeError, match="0 to 1000") as caught:
        list(fetch(settings, TP, start=5000, stop=6000))

    assert (caught.value.log_start, caught.value.high_watermark) == (0, 1000)
