import ssl
from pathlib import Path

import pytest

from tests.trio_kafka_spark.client.certificates import Identity, authority, issued
from tests.trio_kafka_spark.client.scripted import Scripted, scripted
from trio_kafka_spark.client.connection import Connection
from trio_kafka_spark.client.errors import AuthenticationError, OptionError
from trio_kafka_spark.client.secret import Secret
from trio_kafka_spark.client.security import Tls
from trio_kafka_spark.client.settings import ClientSettings
from trio_kafka_spark.client.tls import context_of


@pytest.fixture(scope="module")
def ca() -> Identity:
    return authority()


def serving(identity: Identity, path: Path, *, asks: Identity | None = None) -> ssl.SSLContext:
    """A server's context. asks: the authority of the certificates that it asks clients for."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity.write_pem(path / "server.pem"))
    if asks is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=asks.pem)
    return context


def connect(broker: Scripted, tls: Tls) -> tuple[str, str]:
    """TLS version and cipher of a connection that has agreed on versions."""
    settings = ClientSettings(bootstrap=(broker.endpoint,))
    with Connection(broker.endpoint, settings, context_of(tls)) as connection:
        channel = connection._peer._socket
        assert isinstance(channel, ssl.SSLSocket)
        cipher = channel.cipher()
        return str(channel.version()), cipher[0] if cipher else ""


def trusting(ca: Identity, **more: object) -> Tls:
    return Tls(truststore_certificates=Secret("option", ca.pem), **more)


def test_a_client_connects_to_a_broker_with_a_trusted_certificate(
    tmp_path: Path, ca: Identity
) -> None:
    with scripted(tls=serving(issued(ca, "broker"), tmp_path)) as broker:
        version, _ = connect(broker, trusting(ca))

    assert version == "TLSv1.3"


def test_a_trusted_server_certificate_needs_no_trusted_authority(
    tmp_path: Path, ca: Identity
) -> None:
    server = issued(ca, "broker")
    with scripted(tls=serving(server, tmp_path)) as broker:
        connect(broker, trusting(server))


def test_a_certificate_of_an_untrusted_authority_is_refused(tmp_path: Path, ca: Identity) -> None:
    with (
        scripted(tls=serving(issued(authority(), "broker"), tmp_path)) as broker,
        pytest.raises(AuthenticationError, match=r"certificate is not accepted.*ssl\.truststore"),
    ):
        connect(broker, trusting(ca))


def test_a_certificate_for_another_host_is_accepted_only_without_identification(
    tmp_path: Path, ca: Identity
) -> None:
    with scripted(tls=serving(issued(ca, "x", names=("elsewhere",)), tmp_path)) as broker:
        with pytest.raises(AuthenticationError, match="IP address mismatch"):
            connect(broker, trusting(ca))
        connect(broker, trusting(ca, identification=""))


def test_an_encrypted_client_key_is_used_with_its_password_only(
    tmp_path: Path, ca: Identity
) -> None:
    client = issued(ca, "client", names=())
    identity = {
        "keystore_key": Secret("option", client.key_pem("k3y")),
        "keystore_chain": Secret("option", client.pem),
    }
    with scripted(tls=serving(issued(ca, "broker"), tmp_path, asks=ca)) as broker:
        connect(broker, trusting(ca, **identity, key_password=Secret("option", "k3y")))
        with pytest.raises(AuthenticationError, match="TLS failed"):
            connect(broker, trusting(ca))
    for password in (None, Secret("option", "wr0ng")):
        with pytest.raises(OptionError, match=r"key\.password") as caught:
            context_of(trusting(ca, **identity, key_password=password))
        assert "wr0ng" not in str(caught.value)


def test_tls_versions_and_cipher_suites_are_limited_to_the_configured_values(
    tmp_path: Path, ca: Identity
) -> None:
    suite = "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"
    with scripted(tls=serving(issued(ca, "broker"), tmp_path)) as broker:
        assert connect(broker, trusting(ca, protocols=("TLSv1.2",)))[0] == "TLSv1.2"
        assert connect(broker, trusting(ca, ciphers=(suite,))) == (
            "TLSv1.2",
            "ECDHE-ECDSA-CHACHA20-POLY1305",
        )
        of_both = (suite, "TLS_AES_256_GCM_SHA384")
        assert connect(broker, trusting(ca, ciphers=of_both))[0] == "TLSv1.3"


def test_an_error_names_unusable_cipher_suites(ca: Identity) -> None:
    with pytest.raises(OptionError, match="TLS_NO_SUCH: OpenSSL knows none"):
        context_of(trusting(ca, ciphers=("TLS_NO_SUCH",)))
    with pytest.raises(OptionError, match=r"no suite is of the enabled protocols, TLSv1\.2"):
        context_of(trusting(ca, ciphers=("TLS_AES_256_GCM_SHA384",), protocols=("TLSv1.2",)))


def test_text_that_is_no_pem_is_refused_and_not_shown_in_the_error(ca: Identity) -> None:
    with pytest.raises(OptionError, match="no certificates in PEM") as caught:
        context_of(Tls(truststore_certificates=Secret("option", "s3cret")))

    assert "s3cret" not in str(caught.value)


def test_without_a_trust_store_the_authorities_of_the_system_are_trusted() -> None:
    assert context_of(Tls()).verify_mode is ssl.CERT_REQUIRED
