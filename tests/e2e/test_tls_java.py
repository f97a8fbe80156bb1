"""Apache Kafka's own producer and tools over TLS; a JVM for each."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.benchmarks.brokers import SCRIPTS
from tests.certificate_swaps import serving_settings, swapping
from tests.certificates import now
from tests.installed import APACHE_KAFKA, need_or_skip
from trio_kafka.security.tls.development import Identity
from trio_kafka.testing.kafka.threaded import running_broker

AUTHORITY = Identity.authority(now(), "authority of the tests in Java")
CLIENT = AUTHORITY.issue(now(), "ann")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def run(directory: Path, tool: str, *arguments: str, config: Sequence[str]) -> str:
    """Return what a tool prints. config: lines of its client's settings."""
    file = directory / "client.properties"
    file.write_text("\n".join(config))
    done = subprocess.run(
        [SCRIPTS / "tool.sh", tool, *arguments],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert not done.returncode, done.stdout + done.stderr
    return done.stdout


def test_java_produces_with_a_certificate_and_changes_settings_by_older_tls(tmp_path: Path) -> None:
    need_or_skip(*APACHE_KAFKA)
    """Its certificate and what the broker trusts are swapped meanwhile."""
    settings = {
        "listeners": "SSL://127.0.0.1:0",
        "security.inter.broker.protocol": "SSL",
        **serving_settings(AUTHORITY, client_auth="required"),
    }
    with running_broker(settings, topics=["orders"]) as kafka:
        config = {
            "bootstrap.servers": kafka.bootstrap,
            "security.protocol": "SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": AUTHORITY.pem,
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": CLIENT.pem,
            "ssl.keystore.key": CLIENT.key_pem(),
        }
        lines = [f"{name}={text}".replace("\n", "\\n") for name, text in config.items()]
        file = str(tmp_path / "client.properties")

        with swapping(kafka, AUTHORITY) as swaps:
            printed = run(
                tmp_path,
                "ProducerPerformance",
                *("--topic", "orders", "--num-records", "2000", "--record-size", "1000"),
                *("--throughput", "1000", "--producer.config", file),
                config=lines,
            )
        assert "2000 records sent" in printed
        assert "WARN" not in printed
        assert "ERROR" not in printed
        assert len(swaps) > 1
        assert kafka.topic("orders").offsets == {0: (0, 2000)}

        tls12 = [*lines, "ssl.enabled.protocols=TLSv1.2"]
        chain = "listener.name.ssl.ssl.keystore.type=PEM"
        words = ("--bootstrap-server", kafka.bootstrap, "--command-config", file)
        change = ("--entity-type", "brokers", "--entity-name", "1", "--alter")
        printed = run(
            tmp_path,
            "kafka.admin.ConfigCommand",
            *words,
            *change,
            "--add-config",
            chain,
            config=tls12,
        )
        assert "Completed updating config for broker 1" in printed
