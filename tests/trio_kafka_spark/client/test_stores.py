from pathlib import Path

import pytest

from tests.trio_kafka_spark.client.certificates import Identity, authority, issued
from trio_kafka_spark.client.errors import OptionError
from trio_kafka_spark.client.secret import Secret
from trio_kafka_spark.client.stores import identity, trusted

OPTION = "kafka.ssl.truststore.location"


@pytest.fixture(scope="module")
def ca() -> Identity:
    return authority()


def secret(text: str) -> Secret:
    return Secret("kafka.ssl.truststore.password", text)


@pytest.mark.parametrize("kind", ["", "JKS", "PKCS12"])
def test_a_pkcs12_trust_store_gives_its_certificates_as_pem(
    tmp_path: Path, ca: Identity, kind: str
) -> None:
    path = ca.write_p12(tmp_path / "trust.p12", "p4ss", with_key=False)

    assert trusted(OPTION, kind=kind, location=str(path), password=secret("p4ss")) == ca.pem


@pytest.mark.parametrize("kind", ["", "PEM"])
def test_a_pem_trust_store_is_used_unchanged(tmp_path: Path, ca: Identity, kind: str) -> None:
    path = tmp_path / "ca.pem"
    path.write_text(ca.pem)

    assert trusted(OPTION, kind=kind, location=str(path), password=None) == ca.pem


def test_a_pkcs12_key_store_gives_key_and_certificate_chain_as_pem(
    tmp_path: Path, ca: Identity
) -> None:
    client = issued(ca, "client")
    path = client.write_p12(tmp_path / "client.p12", "p4ss")

    found = identity(OPTION, kind="PKCS12", location=str(path), password=secret("p4ss"))

    assert found == client.key_pem() + client.pem
    pem = client.write_pem(tmp_path / "client.pem", "other")
    assert identity(OPTION, kind="PEM", location=str(pem), password=None) == pem.read_text()


@pytest.mark.parametrize("magic", ["feedfeed", "cececece"])
def test_a_jks_store_is_refused_with_the_command_to_convert_the_file(
    tmp_path: Path, magic: str
) -> None:
    path = tmp_path / "trust.jks"
    path.write_bytes(bytes.fromhex(magic) + bytes(20))

    with pytest.raises(OptionError) as caught:
        trusted(OPTION, kind="JKS", location=str(path), password=secret("p4ss"))

    assert (
        f"keytool -importkeystore -srckeystore {path} -destkeystore {path}.p12"
        " -deststoretype PKCS12"
    ) in str(caught.value)


def test_a_file_that_does_not_fit_its_store_type_is_refused_with_the_reason(
    tmp_path: Path, ca: Identity
) -> None:
    pem, p12 = tmp_path / "ca.pem", ca.write_p12(tmp_path / "ca.p12", "p4ss", with_key=False)
    pem.write_text(ca.pem)
    junk = tmp_path / "junk"
    junk.write_bytes(b"\x30junk")
    text = tmp_path / "text"
    text.write_bytes(b"text")
    latin = tmp_path / "latin"
    latin.write_bytes(b"-----BEGIN \xff")
    for kind, path, message in (
        ("PKCS12", pem, "is PEM, and the type says PKCS12"),
        ("PEM", p12, "is PKCS12, and the type says PEM"),
        ("", text, "neither PEM nor PKCS12"),
        ("", junk, "cannot be opened: the password is wrong, or the file is damaged"),
        ("", p12, "cannot be opened: the password is wrong"),
        ("", latin, "not UTF-8"),
        ("", tmp_path / "absent", "No such file"),
    ):
        with pytest.raises(OptionError, match=message) as caught:
            trusted(OPTION, kind=kind, location=str(path), password=secret("wr0ng"))
        assert "wr0ng" not in str(caught.value)


def test_a_trust_store_without_a_private_key_is_refused_as_key_store(
    tmp_path: Path, ca: Identity
) -> None:
    path = ca.write_p12(tmp_path / "ca.p12", "p4ss", with_key=False)

    with pytest.raises(OptionError, match="has no private key"):
        identity(OPTION, kind="", location=str(path), password=secret("p4ss"))
