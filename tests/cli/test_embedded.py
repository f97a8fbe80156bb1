import json
import re
import signal
import socket
import subprocess
import sys

import attrs
import pytest

from tests.broker.kit import APIS, config_of
from trio_kafka.broker import Broker
from trio_kafka.cli.embedded import banner, embedded_settings, print_addresses, print_banner
from trio_kafka.config.properties import SettingText
from trio_kafka.testing.ports import unused_port
from trio_kafka.testing.processes import ask_api_versions
from trio_kafka.testing.simulation import simulated_world
from trio_kafka_admin.plugin import admin
from trio_kafka_http.plugin import http
from trio_kafka_metrics.plugin import metrics


def test_embedded_broker_uses_the_usual_port_if_free() -> None:
    port = unused_port()

    assert embedded_settings(port)["listeners"].text == f"PLAINTEXT://127.0.0.1:{port}"


def test_embedded_broker_uses_any_free_port_if_the_usual_port_is_in_use() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()

        result = embedded_settings(other.getsockname()[1])

    assert result["listeners"].text == "PLAINTEXT://127.0.0.1:0"


def test_embedded_http_listener_uses_its_usual_port_or_any_free_port() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        free = unused_port()

        texts = [
            embedded_settings(unused_port(), port)["plugin.http.listeners"].text
            for port in (free, taken)
        ]

    assert texts == [f"http://127.0.0.1:{free}", "http://127.0.0.1:0"]


def test_embedded_settings_without_an_http_server_have_no_http_listener(monkeypatch) -> None:
    monkeypatch.setattr("trio_kafka.cli.embedded.find_spec", lambda _: None)

    assert "plugin.http.listeners" not in embedded_settings(unused_port())


async def test_banner_says_which_usual_ports_are_taken(autojump_clock) -> None:
    texts = {
        "listeners": SettingText("PLAINTEXT://127.0.0.1:0", "--embedded"),
        "plugin.http.listeners": SettingText("http://127.0.0.1:0", "--embedded"),
    }
    config = attrs.evolve(config_of(), texts=texts)
    async with Broker(
        config, simulated_world(), format_if_empty=True, apis=APIS, plugins=(http,)
    ) as broker:
        lines = banner(broker).splitlines()

    assert "  port 9092 is taken: Kafka has a free port instead" in lines
    assert "  port 9644 is taken: HTTP has a free port instead" in lines


async def test_json_banner_has_every_address_of_the_broker(autojump_clock, capsys) -> None:
    async with Broker(
        config_of(),
        simulated_world(),
        format_if_empty=True,
        apis=APIS,
        plugins=(http, metrics, admin),
    ) as broker:
        print_addresses(broker)

    result = json.loads(capsys.readouterr().out)
    assert result["bootstrap"] == broker.bootstrap
    assert result["directories"] == ["/data"]
    assert [f"{address}/admin" for address in result["http"]] == result["ui"] != []


async def test_banner_shows_address_directory_and_example_commands(autojump_clock, capsys) -> None:
    async with Broker(
        config_of(), simulated_world(), format_if_empty=True, apis=APIS, plugins=()
    ) as broker:
        print_banner(broker)

    assert capsys.readouterr().out == banner(broker) + "\n"
    assert banner(broker).splitlines() == [
        f"trio-kafka serves at {broker.bootstrap}, with its data in /data",
        f"  kcat -b {broker.bootstrap} -L",
        f'  confluent_kafka.Producer({{"bootstrap.servers": "{broker.bootstrap}"}})',
        "  no HTTP plane: set plugin.http.listeners=http://127.0.0.1:9644 to have one",
    ]


async def test_banner_shows_the_readiness_url_and_the_admin_ui_url(
    autojump_clock,
) -> None:
    plugins = (http, metrics, admin)
    config = config_of({"plugin.admin.path": "/ui"})
    async with Broker(
        config, simulated_world(), format_if_empty=True, apis=APIS, plugins=plugins
    ) as broker:
        [line, address] = banner(broker).splitlines()[3:]

    result = re.fullmatch(r"  curl (http://\S+)/readyz", line)
    assert result is not None
    assert address.split()[0] == f"{result[1]}/ui"


@pytest.mark.slow
def test_embedded_start_serves_from_an_empty_directory_and_prints_its_address(tmp_path) -> None:
    command = [sys.executable, "-m", "trio_kafka", "start", "--embedded"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            line = process.stdout.readline()
            host, port = re.search(r"serves at (\S+):(\d+),", line).groups()
            assert 18 in ask_api_versions((host, int(port)))
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0

    assert (tmp_path / "data" / "meta.properties").is_file()
    assert line.endswith(f"with its data in {tmp_path / 'data'}\n")
