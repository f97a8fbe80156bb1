import ssl

import pytest

from tests.certificates import client, server, serving, trusting
from trio_kafka.config.setting import ConfigError
from trio_kafka.security.tls.contexts import client_context, server_identity
from trio_kafka.security.tls.settings import TlsSettings


def test_a_listener_refuses_renegotiation_and_asks_as_its_settings_say() -> None:
    for text, mode in (
        ("none", ssl.CERT_NONE),
        ("requested", ssl.CERT_OPTIONAL),
        ("required", ssl.CERT_REQUIRED),
    ):
        identity = server_identity(serving(client_auth=text))
        assert identity.context.verify_mode is mode
        assert identity.context.options & ssl.OP_NO_RENEGOTIATION
        assert identity.certificate.name == "CN=broker"


def test_suites_of_a_listener_have_forward_secrecy_and_no_cbc() -> None:
    suites = server_identity(serving()).context.get_ciphers()

    assert {suite["protocol"] for suite in suites} == {"TLSv1.2", "TLSv1.3"}
    assert all(suite["aead"] for suite in suites)
    names = [suite["name"] for suite in suites if suite["protocol"] == "TLSv1.2"]
    assert all(name.startswith(("ECDHE-", "DHE-")) for name in names)


def test_a_client_checks_the_host_name_unless_identification_is_off() -> None:
    assert client_context(trusting()).check_hostname
    assert not client_context(trusting(endpoint_identification_algorithm="")).check_hostname
    with pytest.raises(ConfigError, match="'ldaps' is not supported"):
        client_context(trusting(endpoint_identification_algorithm="ldaps"))


def test_without_a_trust_store_the_authorities_of_the_system_are_trusted() -> None:
    assert client_context(TlsSettings()).verify_mode is ssl.CERT_REQUIRED


def test_keys_that_cannot_be_used_are_named_without_a_secret() -> None:
    for settings, reason in (
        (serving(keystore_key=client().key_pem()), "not that of the first certificate"),
        (
            serving(keystore_key=server().key_pem("k3y"), key_password="wr0ng"),
            r"cannot be decrypted: check ssl.key.password",
        ),
        (serving(keystore_key="s3cret"), "cannot be used: want a key in PKCS#8"),
        (serving(keystore_certificate_chain="s3cret"), "cannot be used"),
        (
            serving(client_auth="required", truststore_certificates="s3cret"),
            r"ssl.truststore.certificates: holds no certificates in PEM",
        ),
        (
            serving(client_auth="none", truststore_certificates="s3cret"),
            r"ssl.truststore.certificates: holds no certificates in PEM",
        ),
        (TlsSettings(), r"ssl.keystore.location: is missing"),
    ):
        with pytest.raises(ConfigError, match=reason) as caught:
            server_identity(settings)
        for secret in ("wr0ng", "s3cret", "PRIVATE"):
            assert secret not in str(caught.value)


def test_an_encrypted_key_is_used_with_its_password() -> None:
    server_identity(serving(keystore_key=server().key_pem("k3y"), key_password="k3y"))
