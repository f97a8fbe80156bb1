from pathlib import Path

import pytest

from tests.certificates import authority, client, server, write_pem
from trio_kafka.config.setting import ConfigError
from trio_kafka.security.tls.settings import TlsSettings
from trio_kafka.security.tls.stores import read_identity, read_trusted


def trusted_pem(kind: str, path: Path, password: str | None = None) -> str:
    settings = TlsSettings(
        truststore_type=kind, truststore_location=str(path), truststore_password=password
    )
    store = read_trusted(settings)
    assert store is not None
    assert str(path) in repr(store)
    assert "BEGIN" not in repr(store)
    return store.pem


def identity_pem(kind: str, path: Path, password: str | None = None) -> str:
    settings = TlsSettings(
        keystore_type=kind, keystore_location=str(path), keystore_password=password
    )
    store = read_identity(settings)
    assert store is not None
    return store.pem


@pytest.mark.parametrize("kind", ["", "JKS", "PKCS12"])
def test_a_pkcs12_trust_store_gives_its_certificates_as_pem(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "trust.p12"
    path.write_bytes(authority().trust_store("p4ss"))

    assert trusted_pem(kind, path, "p4ss") == authority().pem


@pytest.mark.parametrize("kind", ["", "JKS", "PEM"])
def test_a_pem_trust_store_is_used_unchanged(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "ca.pem"
    path.write_text(authority().pem)

    assert trusted_pem(kind, path) == authority().pem


def test_a_pkcs12_key_store_gives_key_and_certificate_chain_as_pem(tmp_path: Path) -> None:
    path = tmp_path / "client.p12"
    path.write_bytes(client().key_store("p4ss"))

    assert identity_pem("PKCS12", path, "p4ss") == client().key_pem() + client().pem
    pem = write_pem(client(), tmp_path / "client.pem", "other")
    assert identity_pem("PEM", pem) == pem.read_text()


def test_inline_pem_may_be_one_line_with_escaped_ends() -> None:
    settings = TlsSettings(
        keystore_type="PEM",
        keystore_key=server().key_pem().replace("\n", "\\n"),
        keystore_certificate_chain=server().pem,
        truststore_certificates=authority().pem.replace("\n", "\\n"),
    )
    identity, trusted = read_identity(settings), read_trusted(settings)

    assert identity is not None
    assert server().pem in identity.pem
    assert trusted is not None
    assert trusted.pem == authority().pem


def test_without_stores_there_is_neither_identity_nor_trust() -> None:
    assert read_identity(TlsSettings()) is None
    assert read_trusted(TlsSettings()) is None


@pytest.mark.parametrize("magic", ["feedfeed", "cececece"])
def test_a_jks_store_is_refused_with_the_command_to_convert_the_file(
    tmp_path: Path, magic: str
) -> None:
    path = tmp_path / "trust.jks"
    path.write_bytes(bytes.fromhex(magic) + bytes(20))

    with pytest.raises(ConfigError) as caught:
        trusted_pem("JKS", path, "p4ss")

    assert caught.value.name == "ssl.truststore.location"
    assert (
        f"keytool -importkeystore -srckeystore {path} -destkeystore {path}.p12"
        " -deststoretype PKCS12"
    ) in str(caught.value)


def test_a_file_that_does_not_fit_its_store_type_is_refused_with_the_reason(
    tmp_path: Path,
) -> None:
    pem, p12 = tmp_path / "ca.pem", tmp_path / "ca.p12"
    pem.write_text(authority().pem)
    p12.write_bytes(authority().trust_store("p4ss"))
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
        with pytest.raises(ConfigError, match=message) as caught:
            trusted_pem(kind, path, "wr0ng")
        assert "wr0ng" not in str(caught.value)
        assert str(path) in str(caught.value)


def test_a_trust_store_without_a_private_key_is_refused_as_key_store(tmp_path: Path) -> None:
    path = tmp_path / "ca.p12"
    path.write_bytes(authority().trust_store("p4ss"))

    with pytest.raises(ConfigError, match="has no private key"):
        identity_pem("", path, "p4ss")
