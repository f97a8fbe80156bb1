"""A secret that a broker looked up is in nothing that it says."""

from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from trio_kafka.cli import main
from trio_kafka.testing.processes import broker_process

SECRET = "hunter22-of-the-environment"
WAIT_S = 20
SETTINGS = (
    "config.providers=env",
    "ssl.key.password=${env:KEY_PASSWORD}",
    "listener.name.plaintext.ssl.keystore.password=${env:KEY_PASSWORD}",
    "plugin.http.token=${env:KEY_PASSWORD}",
    "trio.log.level=DEBUG",
)


@pytest.mark.slow
def test_secret_setting_appears_in_no_log_response_or_data_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY_PASSWORD", SECRET)

    with broker_process(tmp_path, *SETTINGS) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        resource = ConfigResource(ResourceType.BROKER, "1")
        entries = admin.describe_configs([resource])[resource].result(WAIT_S)
        assert broker.stop() == 0

    password = entries["ssl.key.password"]
    assert (password.value, password.is_sensitive) == (None, True)
    assert entries["listener.name.plaintext.ssl.keystore.password"].value is None
    assert SECRET not in "".join(str(vars(entry)) for entry in entries.values())
    log = broker.log.read_text()
    assert SECRET not in log
    assert SECRET.encode() not in b"".join(
        path.read_bytes() for path in broker.data.rglob("*") if path.is_file()
    )


def test_secret_setting_appears_in_no_command_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KEY_PASSWORD", SECRET)
    file = tmp_path / "server.properties"
    file.write_text("\n".join((*SETTINGS, "broker.rack=${env:KEY_PASSWORD}")))
    broken = tmp_path / "broken.properties"
    broken.write_text("\n".join((*SETTINGS, "node.id=${env:KEY_PASSWORD}")))

    assert main(["config", "lint", str(file)]) == 0
    assert main(["config", "explain", "-f", str(file), "broker.rack", "ssl.key.password"]) == 0
    assert main(["config", "diff", str(file)]) == 1
    assert main(["config", "lint", str(broken)]) == 2
    assert main(["start", str(broken)]) == 2

    output = capsys.readouterr()
    assert "broker.rack" in output.out
    assert SECRET not in output.out + output.err
