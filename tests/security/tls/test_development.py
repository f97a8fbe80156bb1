import ssl
from datetime import timedelta
from pathlib import Path

from tests.certificates import now, write_pem
from trio_kafka.security.tls.certificate import first_certificate
from trio_kafka.security.tls.development import LOCAL_HOSTS, Identity


def test_certificates_are_valid_for_their_time_hosts_and_purpose(tmp_path: Path) -> None:
    began = now()
    authority = Identity.authority(began, days=3)
    server = authority.issue(began, "broker", hosts=LOCAL_HOSTS, days=2)
    client = authority.issue(began, "CN=ann,O=x")

    facts = first_certificate(server.pem)
    assert facts.not_after - began <= timedelta(days=2)
    assert facts.not_before < began
    assert len(facts.alternative_names) == 3
    assert first_certificate(client.pem).name == "CN=ann,O=x"
    for identity, purpose in ((server, "serverAuth"), (client, "clientAuth")):
        usages = identity.certificate.extensions.get_extension_for_class(
            __import__("cryptography.x509", fromlist=["x509"]).ExtendedKeyUsage
        ).value
        assert [usage._name for usage in usages] == [purpose]


def test_keys_and_certificates_fit_python_and_each_other(tmp_path: Path) -> None:
    authority = Identity.authority(now())
    identity = authority.issue(now(), "broker", hosts=("a.example",))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)

    context.load_cert_chain(write_pem(identity, tmp_path / "a.pem", "k3y"), password="k3y")
    context.load_verify_locations(cadata=authority.pem)
