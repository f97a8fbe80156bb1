"""Stores of TLS of a listener, with our verdict and that of Apache Kafka.

python -m tests.broker.tls_verdicts    writes the recorded ones

Values have names of stores in angle brackets, which `stores_in` makes.
"""

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from attrs import asdict

from tests.certificates import authority, client, server, write_pem
from tests.config.verdict_table import NODE, Row
from tests.config.verdicts import Verdict, verdicts_of_kafka

RECORDED: Final = Path(__file__).parent / "data" / "tls-verdicts-of-kafka-4.4.json"

LOCATION: Final = "ssl.keystore.location"
TYPE: Final = "ssl.keystore.type"
PASSWORD: Final = "ssl.keystore.password"
KEY: Final = "ssl.keystore.key"
CHAIN: Final = "ssl.keystore.certificate.chain"
KEY_PASSWORD: Final = "ssl.key.password"
TRUSTED: Final = "ssl.truststore.location"
TRUSTED_TYPE: Final = "ssl.truststore.type"
TRUSTED_TEXT: Final = "ssl.truststore.certificates"
TRUSTED_PASSWORD: Final = "ssl.truststore.password"
VERSIONS: Final = "ssl.enabled.protocols"
SUITES: Final = "ssl.cipher.suites"
PROTOCOL: Final = "ssl.protocol"
AUTH: Final = "ssl.client.auth"
RULES: Final = "ssl.principal.mapping.rules"

AT_HANDSHAKES: Final = "Kafka starts, and then each handshake fails"
OLD: Final = "versions before 1.2 are not served"
JAVA: Final = "Java cannot read this form of an encrypted key"
CONTENT: Final = "the content decides where the type is the default"
UNUSED_PASSWORD: Final = "a password beside a key that is not encrypted is not needed"
ITSELF: Final = "Kafka tries a handshake with itself"

_PEM: Final = {TYPE: "PEM", LOCATION: "<good>"}
_TEXT: Final = {TYPE: "PEM", KEY: "<key>", CHAIN: "<chain>"}
_P12: Final = {TYPE: "PKCS12", LOCATION: "<p12>", PASSWORD: "p4ss"}
_TRUST: Final = {TRUSTED_TYPE: "PEM", TRUSTED: "<authority>"}
_OF_BROKERS: Final = {"inter.broker.listener.name": "OUT"}
ROWS: Final = (
    Row("a key and its certificate", _PEM),
    Row("no store", {}, LOCATION, AT_HANDSHAKES),
    Row("another key", {**_PEM, LOCATION: "<foreign>"}, LOCATION, AT_HANDSHAKES),
    Row("no file", {**_PEM, LOCATION: "<absent>"}, LOCATION),
    Row("an empty file", {**_PEM, LOCATION: "<empty>"}, LOCATION),
    Row("no PEM", {**_PEM, LOCATION: "<junk>"}, LOCATION),
    Row("an encrypted key", {**_PEM, LOCATION: "<locked>", KEY_PASSWORD: "k3y"}, None, JAVA),
    Row("an encrypted key without a password", {**_PEM, LOCATION: "<locked>"}, LOCATION),
    Row("a wrong password", {**_PEM, LOCATION: "<locked>", KEY_PASSWORD: "no"}, LOCATION),
    Row("a password too many", {**_PEM, KEY_PASSWORD: "k3y"}, None, UNUSED_PASSWORD),
    Row("a password of a PEM file", {**_PEM, PASSWORD: "p4ss"}, PASSWORD),
    Row("PEM in the settings", _TEXT),
    Row("PEM in the settings and a file", {**_TEXT, LOCATION: "<good>"}, KEY),
    Row("a key without a certificate", {TYPE: "PEM", KEY: "<key>"}, CHAIN),
    Row("a certificate without a key", {TYPE: "PEM", CHAIN: "<chain>"}, KEY),
    Row("PEM in the settings without its type", {**_TEXT, TYPE: "JKS"}, KEY),
    Row("PKCS12", _P12),
    Row("PKCS12 with a wrong password", {**_P12, PASSWORD: "no"}, LOCATION),
    Row("PKCS12 without a password", {TYPE: "PKCS12", LOCATION: "<p12>"}, PASSWORD),
    Row("PKCS12 as PEM", {TYPE: "PEM", LOCATION: "<p12>"}, LOCATION),
    Row("PEM as PKCS12", {**_P12, LOCATION: "<good>"}, LOCATION),
    Row("PEM without a type", {LOCATION: "<good>", PASSWORD: "p4ss"}, None, CONTENT),
    Row("an unknown type", {TYPE: "OTHER", LOCATION: "<good>"}, TYPE),
    Row("an old version", {**_PEM, VERSIONS: "TLSv1.1"}, VERSIONS, OLD),
    Row("an unknown version", {**_PEM, VERSIONS: "OTHER"}, VERSIONS, AT_HANDSHAKES),
    Row("an unknown protocol", {**_PEM, PROTOCOL: "OTHER"}, PROTOCOL),
    Row("a suite", {**_PEM, SUITES: "TLS_AES_128_GCM_SHA256"}),
    Row("an unknown suite", {**_PEM, SUITES: "OTHER"}, SUITES, AT_HANDSHAKES),
    Row("no rule", {**_PEM, RULES: "RULE:x"}, RULES),
    Row("a trust store", {**_PEM, **_TRUST}),
    Row("a trust store in the settings", {**_PEM, TRUSTED_TYPE: "PEM", TRUSTED_TEXT: "<ca>"}),
    Row("two trust stores", {**_PEM, **_TRUST, TRUSTED_TEXT: "<ca>"}, TRUSTED_TEXT),
    Row("no trust store", {**_PEM, **_TRUST, TRUSTED: "<absent>"}, TRUSTED),
    Row("a trust store without PEM", {**_PEM, **_TRUST, TRUSTED: "<junk>"}, TRUSTED),
    Row("a password of trust in PEM", {**_PEM, **_TRUST, TRUSTED_PASSWORD: "x"}, TRUSTED_PASSWORD),
    Row("clients must have certificates", {**_PEM, **_TRUST, AUTH: "required"}),
    Row("brokers trust one another", {**_PEM, **_TRUST, **_OF_BROKERS}),
    Row("brokers do not trust one another", {**_PEM, **_OF_BROKERS}, None, ITSELF),
)
_OUT: Final[Mapping[str, str]] = {
    "listeners": "PLAINTEXT://:9092,OUT://:9094,CONTROLLER://:9093",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OUT:SSL,CONTROLLER:PLAINTEXT",
}
_CONTROLLER: Final[Mapping[str, str]] = {
    "listeners": "PLAINTEXT://:9092,OUT://:9094,CONTROLLER://:9093",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OUT:PLAINTEXT,CONTROLLER:SSL",
}


def stores_in(directory: Path) -> dict[str, str]:
    """Write the stores, and return what stands for each name."""
    texts = {"foreign": server().key_pem() + client().pem, "empty": "", "junk": "no certificate\n"}
    texts["authority"] = authority().pem
    for name, text in texts.items():
        (directory / name).write_text(text)
    (directory / "p12").write_bytes(server().key_store("p4ss"))
    write_pem(server(), directory / "good")
    write_pem(server(), directory / "locked", "k3y")
    names = (*texts, "p12", "good", "locked", "absent")
    stores = {f"<{name}>": str(directory / name) for name in names}
    own = server()
    return stores | {"<key>": own.key_pem(), "<chain>": own.pem, "<ca>": authority().pem}


def settings_of(row: Row, stores: Mapping[str, str], *, of_controller: bool) -> dict[str, str]:
    """Return settings in which the row's are those of a listener for clients or the controller."""
    around = {**NODE, **(_CONTROLLER if of_controller else _OUT)}
    changes = {name: stores.get(text or "", text or "") for name, text in row.changes.items()}
    return around | changes


def recorded_tls_verdicts() -> dict[str, Verdict]:
    content = json.loads(RECORDED.read_text())
    return {name: Verdict(**verdict) for name, verdict in content.items()}


def tls_verdicts_of_kafka(stores: Mapping[str, str]) -> dict[str, Verdict]:
    """Return the verdicts by row. Raises MissingError if Java or Maven is not there."""
    rows = [Row(row.name, settings_of(row, stores, of_controller=False)) for row in ROWS]
    return verdicts_of_kafka(rows, "tls")


def main() -> int:
    with tempfile.TemporaryDirectory() as place:
        verdicts = tls_verdicts_of_kafka(stores_in(Path(place)))
        content = {name: asdict(verdict) for name, verdict in verdicts.items()}
        text = json.dumps(content, indent=1).replace(place, "")
    RECORDED.write_text(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
