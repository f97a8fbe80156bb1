import pytest

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.settings import read_settings


def why_rejected(files: list[str], arguments: list[str]) -> str:
    with pytest.raises(CommandFailedError) as caught:
        read_settings(files, arguments)
    assert caught.value.status == 2
    return str(caught.value)


def test_options_override_the_settings_of_the_file(tmp_path):
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=2\nnum.io.threads=3\n")

    config = read_settings([str(file)], ["num.partitions=5"]).config

    assert (config.num_partitions, config.num_io_threads) == (5, 3)


def test_node_without_file_and_options_is_embedded():
    assert read_settings([], []).config.embedded


def test_properties_file_is_read_as_latin_1_with_any_line_ends(tmp_path):
    file = tmp_path / "server.properties"
    file.write_bytes(b"broker.rack=caf\xe9\rnum.partitions=2\r\nnum.io.\\\r\n  threads=3\n")

    config = read_settings([str(file)], []).config

    assert (config.broker_rack, config.num_partitions, config.num_io_threads) == ("café", 2, 3)


def test_refused_setting_is_reported_with_file_and_line(tmp_path):
    file = tmp_path / "server.properties"
    file.write_text("# mine\nnum.partition=2\n")

    assert why_rejected([str(file)], []) == (
        f"{file}:2: num.partition: no such setting: did you mean num.partitions?"
    )


def test_refused_option_is_reported():
    assert why_rejected([], ["num.partitions"]) == "-c: num.partitions: is not NAME=VALUE"


def test_unreadable_settings_file_is_named(tmp_path):
    missing = tmp_path / "missing.properties"

    assert why_rejected([str(missing)], []) == f"{missing}: No such file or directory"
    assert why_rejected([str(tmp_path)], []) == f"{tmp_path}: Is a directory"


def test_settings_file_without_an_end_is_refused():
    assert "name a file of settings" in why_rejected(["/dev/zero"], [])


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """Files with a value of their own for each setting that a later source has too."""
    toml, properties = tmp_path / "a.toml", tmp_path / "b.properties"
    toml.write_text(
        "num.partitions = 1\nnum.io.threads = 1\nbroker.rack = '1'\nfetch.max.bytes = 1024\n"
    )
    monkeypatch.setenv("KAFKA_NUM_PARTITIONS", "2")
    monkeypatch.setenv("KAFKA_NUM_IO_THREADS", "2")
    monkeypatch.setenv("KAFKA_BROKER_RACK", "2")
    properties.write_text("num.partitions=3\nnum.io.threads=3\n")
    return str(properties), str(toml)


def test_sources_of_settings_have_a_fixed_precedence_in_any_order_of_files(sources):
    for files in (sources, sources[::-1]):
        config = read_settings(files, ["num.partitions=4"]).config

        assert config.num_partitions == 4
        assert config.num_io_threads == 3
        assert config.broker_rack == "2"
        assert config.fetch_max_bytes == 1024


def test_each_setting_records_its_source(sources):
    texts = read_settings(sources, ["num.partitions=4"]).config.texts

    assert texts["num.partitions"].where == "-c"
    assert texts["num.io.threads"].where == f"{sources[0]}:2"
    assert texts["broker.rack"].where == "environment KAFKA_BROKER_RACK"
    assert texts["fetch.max.bytes"].where == sources[1]


def test_later_of_two_files_of_the_same_kind_wins(tmp_path):
    first, second = tmp_path / "one", tmp_path / "other"
    first.write_text("num.partitions=1")
    second.write_text("num.partitions=2")

    assert read_settings([str(first), str(second)], []).config.num_partitions == 2
    assert read_settings([str(second), str(first)], []).config.num_partitions == 1


def test_environment_variable_that_is_not_a_setting_is_a_warning(monkeypatch):
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "host:1")

    assert read_settings([], []).warnings == (
        "environment KAFKA_BOOTSTRAP_SERVERS: bootstrap.servers is not a setting, and is ignored",
    )


def test_misspelled_environment_variable_is_refused(monkeypatch):
    monkeypatch.setenv("KAFKA_NUM_PARTITION", "5")

    assert "KAFKA_NUM_PARTITION: num.partition: no such setting" in why_rejected([], [])


def test_secrets_are_read_from_environment_and_files(tmp_path, monkeypatch):
    secrets = tmp_path / "secrets"
    secrets.write_text("rack=é")
    monkeypatch.setenv("SECRET", "5")

    config = read_settings(
        [],
        [
            "config.providers=env,file",
            f"broker.rack=${{file:{secrets}:rack}}",
            "num.partitions=${env:SECRET}",
        ],
    ).config

    assert (config.broker_rack, config.num_partitions) == ("é", 5)


def test_invalid_toml_file_is_refused(tmp_path):
    file = tmp_path / "a.toml"
    file.write_bytes(b"\xff")
    assert why_rejected([str(file)], []) == f"{file}: is not UTF-8, as a TOML file must be"
    file.write_text("a = ")
    assert why_rejected([str(file)], []).startswith(f"{file}: TOML: Invalid value")
