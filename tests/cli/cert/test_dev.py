import json
import ssl
import stat
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from trio_kafka.cli import main
from trio_kafka.config.properties import parse_properties
from trio_kafka.testing.kafka.threaded import running_broker


def settings_of(path: Path) -> dict[str, str]:
    values = parse_properties(path.read_text(), str(path))
    return {name: value.text for name, value in values.items()}


def test_broker_and_clients_use_the_files_as_they_are_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "certs"

    assert main(["cert", "dev", str(directory), "--client", "ann", "--json"]) == 0

    shown = json.loads(capsys.readouterr().out)
    assert shown["clients"]["ann"] == settings_of(directory / "ann.properties")
    assert stat.S_IMODE((directory / "broker.pem").stat().st_mode) == 0o600
    broker = settings_of(directory / "broker.properties") | {"listeners": "SSL://127.0.0.1:0"}
    with running_broker(broker, topics=["orders"]) as kafka:
        pem = str(directory / "ann.pem")
        librdkafka = AdminClient(
            {
                "bootstrap.servers": kafka.bootstrap,
                "security.protocol": "SSL",
                "ssl.ca.location": str(directory / "ca.pem"),
                "ssl.certificate.location": pem,
                "ssl.key.location": pem,
            }
        )
        assert "orders" in librdkafka.list_topics(timeout=10).topics
        config = str(directory / "ann.properties")
        words = ["topic", "list", "--command-config", config, "--bootstrap", kafka.bootstrap]
        assert main(words) == 0
        assert "orders" in capsys.readouterr().out
        assert main(["topic", "list", "--bootstrap", kafka.bootstrap]) == 1
    ssl.create_default_context(cafile=str(directory / "ca.pem")).load_cert_chain(pem)


def test_the_settings_are_printed_for_people(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cert", "dev", str(tmp_path)]) == 0

    out = capsys.readouterr().out
    assert f"trio-kafka start {tmp_path}/broker.properties" in out
    assert f"--command-config {tmp_path}/client.properties" in out
    assert f"ssl.ca.location={tmp_path}/ca.pem" in out


def test_files_of_an_earlier_call_are_kept_without_replace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cert", "dev", str(tmp_path)]) == 0
    first = (tmp_path / "ca.pem").read_text()

    assert main(["cert", "dev", str(tmp_path)]) == 1
    assert f"{tmp_path}/ca.pem exists" in capsys.readouterr().err
    assert (tmp_path / "ca.pem").read_text() == first

    assert main(["cert", "dev", str(tmp_path), "--replace"]) == 0
    assert (tmp_path / "ca.pem").read_text() != first


def test_a_key_does_not_get_into_a_file_that_another_user_has_put_there(tmp_path: Path) -> None:
    directory, elsewhere = tmp_path / "certs", tmp_path / "elsewhere"
    directory.mkdir()
    elsewhere.touch(mode=0o666)
    (directory / ".broker.pem.new").symlink_to(elsewhere)
    (directory / ".client.pem.new").touch(mode=0o666)

    assert main(["cert", "dev", str(directory)]) == 0

    assert elsewhere.read_text() == ""
    for name in ("broker.pem", "client.pem"):
        assert stat.S_IMODE((directory / name).stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--days", "0"], "--days 0: want 1 to 3650"),
        (["--client", "a/b"], "--client a/b: want a plain name"),
        (["--client", "broker"], "--client broker: want a plain name"),
    ],
)
def test_options_that_cannot_be_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], reason: str
) -> None:
    assert main(["cert", "dev", str(tmp_path / "none"), *words]) == 2
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_a_place_that_cannot_be_written_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")

    assert main(["cert", "dev", str(tmp_path / "file" / "certs")]) == 1
    assert "Not a directory" in capsys.readouterr().err
