import sys
from types import ModuleType

import pytest

from trio_kafka.cli import main
from trio_kafka.cli.embedded import print_addresses, print_banner
from trio_kafka.cli.testing_broker import print_testing_addresses
from trio_kafka.install_hint import install_command
from trio_kafka.introspect.log import get_logger


@pytest.fixture
def served(monkeypatch):
    """The calls of `serve`, which stands in for a broker that stops at once with status 7."""
    calls = []

    def serve(config, *, format_if_empty, machine, ready=None):
        get_logger("trio_kafka.broker").info("served")
        calls.append((config, format_if_empty))
        assert ready in (None, print_banner, print_addresses, print_testing_addresses)
        return 7

    module = ModuleType("trio_kafka.broker.main")
    module.serve, module.this_machine = serve, None
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return calls


def test_start_runs_a_broker_with_the_settings_of_file_and_options(served, tmp_path):
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=2\nnum.io.threads=3\n")

    arguments = ["start", str(file), "-c", "num.partitions=5", "-c", "log.dirs=/a,/b"]
    status = main([*arguments, "--format-if-empty"])

    ((config, format_if_empty),) = served
    assert status == 7
    assert (config.num_partitions, config.num_io_threads) == (5, 3)
    assert config.directories == ("/a", "/b")
    assert format_if_empty is True


def test_option_may_precede_the_file_and_contain_any_characters(served, tmp_path):
    file = tmp_path / "server.properties"
    file.write_text("")

    main(["start", "--config=broker.rack=a b=-c,[1]", str(file)])

    ((config, format_if_empty),) = served
    assert config.broker_rack == "a b=-c,[1]"
    assert format_if_empty is False


def test_files_may_be_given_before_and_after_an_option(served, tmp_path):
    first, second = tmp_path / "one.properties", tmp_path / "other.properties"
    first.write_text("num.partitions=2\n")
    second.write_text("num.io.threads=3\n")

    main(["start", str(first), "-c", "broker.rack=a", str(second), "-c", "node.id=7"])

    ((config, _),) = served
    assert (config.num_partitions, config.num_io_threads) == (2, 3)
    assert (config.broker_rack, config.node_id) == ("a", 7)


def test_start_without_arguments_is_embedded(served):
    main(["start"])

    ((config, _),) = served
    assert config.embedded


def test_warnings_and_broker_events_are_logged(served, capsys):
    main(["start", "-c", "share.coordinator.threads=2"])

    warning, event = capsys.readouterr().err.splitlines()
    assert "share.coordinator.threads is not supported yet" in warning
    assert event.endswith("trio_kafka.broker: served")


def test_start_with_refused_settings_ends_with_status_2_and_runs_nothing(served, capsys):
    assert main(["start", "-c", "num.partitions=many"]) == 2

    assert served == []
    assert capsys.readouterr().err == (
        "trio-kafka: -c: num.partitions: 'many' is not a whole number\n"
    )


def test_explicit_settings_override_the_defaults_of_start_embedded(served, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    main(["start", "--embedded"])
    main(["start", "--embedded", "-c", "log.dir=/a", "-c", "listeners=PLAINTEXT://localhost:7"])
    main(["start", "--embedded", "-c", "log.dirs=/b"])

    (first, formats), (second, _), (third, _) = served
    assert formats is True
    assert first.directories == (str(tmp_path / "data"),)
    assert first.listeners[0].startswith("PLAINTEXT://127.0.0.1:")
    assert (second.directories, second.listeners) == (("/a",), ("PLAINTEXT://localhost:7",))
    assert third.directories == ("/b",)


def test_start_testing_uses_free_ports_and_enables_fault_controls(served):
    assert main(["start", "--testing", "-c", "num.partitions=5"]) == 7

    ((config, format_if_empty),) = served
    assert format_if_empty is True
    assert config.num_partitions == 5
    assert config.texts["listeners"].text == "PLAINTEXT://127.0.0.1:0"
    assert config.texts["plugin.faults.enabled"].text == "true"


def test_start_testing_without_an_http_server_is_refused(served, monkeypatch, capsys):
    monkeypatch.setattr("trio_kafka.cli.testing_broker.find_spec", lambda _: None)

    assert main(["start", "--testing"]) == 2
    assert install_command("trio-kafka[http]") in capsys.readouterr().err
    assert served == []
