"""Options of TLS."""

from collections.abc import Iterator

from trio_kafka_spark.client.options.option import KafkaOption, honoured, ignored, refused
from trio_kafka_spark.client.values import choice, text, words


def tls_options() -> Iterator[KafkaOption]:
    types = choice("JKS", "PKCS12", "PEM")
    for store, content in (
        ("truststore", "Certificates of the authorities that are trusted"),
        ("keystore", "Certificate and key of this client"),
    ):
        yield from honoured(
            f"ssl.{store}.type",
            f"security.tls.{store}_type",
            types,
            default="",
            note="PEM or PKCS12. Without it, or with JKS, the content of the file decides. A JKS"
            " file is refused with the command that converts it.",
        )
        yield from honoured(
            f"ssl.{store}.location",
            f"security.tls.{store}_location",
            text,
            default="",
            note=f"{content}: a PEM or PKCS12 file, which every executor has.",
        )
        yield from honoured(
            f"ssl.{store}.password",
            f"security.tls.{store}_password",
            text,
            default="",
            note="Password of that PKCS12 file.",
            secret=True,
        )
    yield from honoured(
        "ssl.truststore.certificates",
        "security.tls.truststore_certificates",
        text,
        default="",
        note="Trusted certificates as PEM text, with type PEM.",
        secret=True,
    )
    yield from honoured(
        "ssl.keystore.certificate.chain",
        "security.tls.keystore_chain",
        text,
        default="",
        note="Certificate chain of this client as PEM text, with type PEM.",
        secret=True,
    )
    yield from honoured(
        "ssl.keystore.key",
        "security.tls.keystore_key",
        text,
        default="",
        note="Private key of this client as PEM text (PKCS#8), with type PEM.",
        secret=True,
    )
    yield from honoured(
        "ssl.key.password",
        "security.tls.key_password",
        text,
        default="",
        note="Password of the private key, where it is encrypted.",
        secret=True,
    )
    yield from honoured(
        "ssl.endpoint.identification.algorithm",
        "security.tls.identification",
        _identification,
        default="https",
        note="`https`: the certificate must name the broker's host. Empty: the name is not"
        " checked.",
    )
    yield from honoured(
        "ssl.enabled.protocols",
        "security.tls.protocols",
        _protocols,
        default="TLSv1.2,TLSv1.3",
        note="Versions of TLS; TLSv1.2 and TLSv1.3 are known.",
    )
    yield from honoured(
        "ssl.cipher.suites",
        "security.tls.ciphers",
        words,
        default="",
        note="Cipher suites by their standard names. Suites of TLS 1.3 cannot be chosen one by one:"
        " naming one allows all of them, naming none of them turns TLS 1.3 off.",
    )
    yield from ignored("`ssl.enabled.protocols` decides.", "ssl.protocol")
    yield from ignored(
        "Choices among Java's security providers; TLS is done by OpenSSL.",
        "ssl.provider",
        "ssl.keymanager.algorithm",
        "ssl.trustmanager.algorithm",
        "ssl.secure.random.implementation",
        "security.providers",
    )
    yield from refused(
        "is a Java class; TLS is set up by the other ssl options", "ssl.engine.factory.class"
    )


def _identification(value: str) -> str:
    if value.strip().lower() not in ("https", ""):
        raise ValueError(f"{value!r}: want https, or nothing to check no names")
    return value.strip().lower()


def _protocols(value: str) -> tuple[str, ...]:
    version_of = choice("TLSv1.2", "TLSv1.3")
    return tuple(str(version_of(name)) for name in words(value))
