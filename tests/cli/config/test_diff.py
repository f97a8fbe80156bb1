import json
import socket

import pytest
import trio

from trio_kafka.cli import main
from trio_kafka.cli.broker_client import BrokerClientError
from trio_kafka.cli.config.diff import _only_one
from trio_kafka.protocol.messages.k60_describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterResponse,
)
from trio_kafka.testing.broker import served_broker
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld


@pytest.fixture
def file(tmp_path):
    result = tmp_path / "a.properties"
    result.write_text("num.partitions=3\nbroker.rack=x\x1b[1m\n")
    return str(result)


def test_config_diff_compares_a_file_with_the_defaults(file, capsys):
    assert main(["config", "diff", file]) == 1

    assert capsys.readouterr().out == (
        "broker.rack\n"
        f"  - x\\x1b[1m  (from {file}:2)\n"
        "  + (not set)  (the default)\n"
        "num.partitions\n"
        f"  - 3  (from {file}:1)\n"
        "  + 1  (the default)\n"
    )


def test_config_diff_json_is_one_object_with_both_sides(file, capsys):
    assert main(["config", "diff", file, "--json"]) == 1

    result = json.loads(capsys.readouterr().out)
    assert result["not_compared"] == []
    assert result["differences"][1] == {
        "name": "num.partitions",
        "a": {"value": "3", "source": f"from {file}:1"},
        "b": {"value": "1", "source": "the default"},
    }


def test_config_diff_compares_a_properties_file_with_a_toml_file(file, tmp_path, capsys):
    other = tmp_path / "b.toml"
    other.write_text("num.partitions = 3\n")

    assert main(["config", "diff", file, str(other)]) == 1
    assert capsys.readouterr().out.splitlines()[0] == "broker.rack"
    assert main(["config", "diff", file, file]) == 0
    assert capsys.readouterr().out == ""


def test_config_diff_ignores_the_environment(file, monkeypatch):
    monkeypatch.setenv("KAFKA_NUM_PARTITIONS", "9")

    assert main(["config", "diff", file, file]) == 0


def test_config_diff_of_invalid_arguments_ends_with_status_2(file, tmp_path, capsys):
    broken = tmp_path / "broken"
    broken.write_text("num.partitions=x")

    assert main(["config", "diff", str(broken)]) == 2
    assert main(["config", "diff", file, str(tmp_path / "none")]) == 2
    assert main(["config", "diff", file, file, "--bootstrap", "h:1"]) == 2
    assert main(["config", "diff", file, "--bootstrap", "h"]) == 2

    assert capsys.readouterr().err == (
        f"trio-kafka: {broken}:1: num.partitions: 'x' is not a whole number\n"
        f"trio-kafka: {tmp_path / 'none'}: No such file or directory\n"
        "trio-kafka: A can be compared with B or with a running broker, not with both:"
        " leave one out\n"
        "trio-kafka: h: not an address: give HOST:PORT, with a port from 1 to 65535\n"
    )


async def run(*arguments):
    """The command in a thread, as it blocks."""
    return await trio.to_thread.run_sync(main, ["config", "diff", *arguments])


async def test_config_diff_compares_a_file_with_a_running_broker(tmp_path, monkeypatch, capsys):
    file = tmp_path / "a.properties"
    data = str(tmp_path / "data")
    same = f"listeners=PLAINTEXT://127.0.0.1:0\nlog.dirs={data}\n"
    file.write_text(f"{same}num.partitions=3\nssl.key.password=x\nnum.io.threads=4\n")
    settings = {"log.dirs": data, "num.io.threads": "8"}

    async with served_broker(RealWorld(SkippingClock()), settings) as served:
        at = served.broker.bootstrap
        assert await run(str(file), "--bootstrap", at) == 1
        output = capsys.readouterr().out
        file.write_text(f"{same}num.io.threads=8\n")
        assert await run(str(file), "--bootstrap", at, "--broker", "1") == 0
        assert capsys.readouterr().out == ""
        assert await run(str(file), "--bootstrap", at, "--broker", "7") == 2
        monkeypatch.setenv("TRIO_KAFKA_BOOTSTRAP", at)
        assert await run(str(file), "--running") == 0
        assert await run(str(file), "--broker", "1") == 0

    assert output == (
        "num.io.threads\n"
        f"  - 4  (from {file}:5)\n"
        "  + 8  (set at its start)\n"
        "num.partitions\n"
        f"  - 3  (from {file}:3)\n"
        "  + 1  (the default)\n"
        "not compared, since one side hides them: ssl.key.password\n"
    )
    assert "7" in capsys.readouterr().err


async def test_config_diff_with_an_unreachable_broker_ends_with_status_2(file, capsys):
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    assert await run(file, "--bootstrap", f"127.0.0.1:{port}") == 2

    assert capsys.readouterr().err == (
        f"trio-kafka: 127.0.0.1:{port}: connection refused: start a broker there,"
        " or set --bootstrap or TRIO_KAFKA_BOOTSTRAP\n"
    )


def test_broker_id_may_be_omitted_only_in_a_cluster_of_one_broker():
    first, second = (DescribeClusterBroker(broker_id=number) for number in (7, 8))

    assert _only_one("h:1", DescribeClusterResponse(brokers=[first])) == 7
    with pytest.raises(BrokerClientError, match="h:1: the cluster has 2 brokers: choose one"):
        _only_one("h:1", DescribeClusterResponse(brokers=[first, second]))
    with pytest.raises(BrokerClientError, match="h:1: CLUSTER_AUTHORIZATION_FAILED"):
        _only_one("h:1", DescribeClusterResponse(error_code=31))
