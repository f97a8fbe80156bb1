"""Apache Kafka's own producer and tools over TLS; a JVM for each."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.benchmarks.brokers import SCRIPTS
from tests.installed import APACHE_KAFKA, need_or_skip
from trio_kafka.testing.kafka.threaded import running_broker

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
    settings = {"ssl.client.auth": "required"}
    with running_broker(settings, tls=True, topics=["orders"]) as kafka:
        config = kafka.client_config("ann", client="trio_kafka")
        lines = [f"{name}={text}".replace("\n", "\\n") for name, text in config.items()]
        file = str(tmp_path / "client.properties")

        printed = run(
            tmp_path,
            "ProducerPerformance",
            *("--topic", "orders", "--num-records", "2000", "--record-size", "1000"),
            *("--throughput", "-1", "--producer.config", file),
            config=lines,
        )
        assert "2000 records sent" in printed
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
