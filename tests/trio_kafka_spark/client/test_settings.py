import pickle
import subprocess
import sys

import pytest

from trio_kafka.model import Endpoint
from trio_kafka_spark.client.errors import OptionError
from trio_kafka_spark.client.settings import ClientSettings

WHERE = {"kafka.bootstrap.servers": "a:1,b:2"}
PLAIN = (
    'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="%s";'
)


def settings(*, for_writing: bool = False, **more: str) -> ClientSettings:
    options = {f"kafka.{name.replace('_', '.')}": value for name, value in more.items()}
    return ClientSettings.from_options(WHERE | options, for_writing=for_writing)


def test_bootstrap_servers_alone_give_settings_with_defaults() -> None:
    result = settings()

    assert result.bootstrap == (Endpoint("a", 1), Endpoint("b", 2))
    assert (result.read_committed, result.fetch_bytes, result.poll_timeout_ms) == (
        False,
        8 << 20,
        120_000,
    )


@pytest.mark.parametrize("for_writing", [True, False])
def test_settings_without_bootstrap_servers_are_refused_by_option_name(for_writing: bool) -> None:
    with pytest.raises(OptionError, match=r"kafka\.bootstrap\.servers: must be specified"):
        ClientSettings.from_options({"subscribe": "t"}, for_writing=for_writing)


def test_option_names_are_case_insensitive() -> None:
    options = {"KAFKA.Bootstrap.Servers": "a:1", "kafkaconsumer.pollTimeoutMs": "7"}

    result = ClientSettings.from_options(options)

    assert (result.bootstrap, result.poll_timeout_ms) == ((Endpoint("a", 1),), 7)


def test_option_values_are_set_in_the_right_part_of_the_settings() -> None:
    result = settings(
        isolation_level="read_committed",
        max_partition_fetch_bytes="1024",
        compression_type="zstd",
        compression_zstd_level="7",
        compression_lz4_level="2",
        ssl_enabled_protocols="TLSv1.3",
    )

    assert (result.read_committed, result.fetch_bytes) == (True, 1024)
    assert (result.writing.compression, result.writing.compression_level) == ("zstd", 7)
    assert settings(compression_type="snappy").writing.compression_level is None
    assert result.security.tls.protocols == ("TLSv1.3",)


def test_an_unknown_option_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(OptionError, match=r"did you mean kafka\.fetch\.min\.bytes\?"):
        settings(fetch_min_byte="1")
    with pytest.raises(OptionError, match=r"is no setting of a Kafka client$"):
        settings(xyzzy="1")


def test_a_malformed_value_is_refused_with_its_option() -> None:
    with pytest.raises(OptionError, match=r"kafka\.fetch\.min\.bytes: 'x' is no whole number"):
        settings(fetch_min_bytes="x")
    with pytest.raises(OptionError, match=r"identification\.algorithm: 'http': want https, or"):
        settings(ssl_endpoint_identification_algorithm="http")
    empty = settings(ssl_endpoint_identification_algorithm="")
    assert empty.security.tls.identification == ""
    with pytest.raises(OptionError, match=r"kafka\.isolation\.level: .*read_committed"):
        settings(isolation_level="serializable")


@pytest.mark.parametrize(
    "name",
    ["auto_offset_reset", "key_deserializer", "value_deserializer", "enable_auto_commit"],
)
def test_options_that_the_official_connector_refuses_for_reads_are_refused(name: str) -> None:
    with pytest.raises(OptionError, match=r"is not supported"):
        settings(**{name: "x"})
    settings(**{name: "x"}, for_writing=True)


@pytest.mark.parametrize("name", ["key_serializer", "value_serializer", "transactional_id"])
def test_unsupported_options_of_writes_are_refused_for_writes_only(name: str) -> None:
    with pytest.raises(OptionError, match=r"is not supported"):
        settings(**{name: "x"}, for_writing=True)
    settings(**{name: "x"})


@pytest.mark.parametrize("for_writing", [True, False])
def test_interceptors_are_refused_for_reads_and_writes(for_writing: bool) -> None:
    with pytest.raises(OptionError, match=r"interceptor\.classes: is not supported"):
        settings(interceptor_classes="a.B", for_writing=for_writing)


def test_group_id_and_options_of_java_only_are_ignored() -> None:
    more = {
        "kafka.config.providers": "env",
        "kafka.config.providers.env.class": "org.apache.kafka.common.config.provider.X",
        "kafka.group.id": "g",
        "kafka.metric.reporters": "",
    }

    assert ClientSettings.from_options(WHERE | more) == settings()


def test_a_variable_in_an_option_that_is_no_secret_is_resolved_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KAFKA_AT", "c:3")

    result = ClientSettings.from_options({"kafka.bootstrap.servers": "${env:KAFKA_AT}"})

    assert result.bootstrap == (Endpoint("c", 3),)


def test_settings_and_errors_of_other_options_show_no_secret() -> None:
    secrets = {
        "sasl_jaas_config": PLAIN % "s3cret",
        "ssl_key_password": "s3cret",
        "ssl_truststore_password": "s3cret",
        "ssl_keystore_key": "s3cret",
        "ssl_keystore_certificate_chain": "s3cret",
        "sasl_oauthbearer_client_credentials_client_secret": "s3cret",
    }
    result = settings(security_protocol="SASL_SSL", sasl_mechanism="PLAIN", **secrets)

    assert "s3cret" not in f"{result!r} {result}"
    assert result.security.sasl.login().options["password"] == "s3cret"
    assert pickle.loads(pickle.dumps(result)) == result
    with pytest.raises(OptionError) as caught:
        settings(security_protocol="SASL_SSL", sasl_mechanism="SCRAM-SHA-256", **secrets)
    assert "s3cret" not in str(caught.value)


def test_importing_the_client_does_not_import_trio() -> None:
    program = (
        "import sys, trio_kafka_spark.client.fetch, trio_kafka_spark.client.tls;"
        "sys.exit('trio' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
