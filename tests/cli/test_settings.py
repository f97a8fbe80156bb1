from trio_kafka.cli.settings import read_settings


def test_options_go_over_the_file(tmp_path):
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=2\nnum.io.threads=3\n")

    config = read_settings(str(file), ["num.partitions=5"]).config

    assert (config.num_partitions, config.num_io_threads) == (5, 3)


def test_without_file_and_options_the_node_is_embedded():
    assert read_settings(None, None).config.embedded


def test_a_file_is_latin_1_with_any_line_ends(tmp_path):
    file = tmp_path / "server.properties"
    file.write_bytes(b"broker.rack=caf\xe9\rnum.partitions=2\r\nnum.io.\\\r\n  threads=3\n")

    config = read_settings(str(file), None).config

    assert (config.broker_rack, config.num_partitions, config.num_io_threads) == ("café", 2, 3)


def test_a_refused_setting_is_printed_with_file_and_line(tmp_path, capsys):
    file = tmp_path / "server.properties"
    file.write_text("# mine\nnum.partition=2\n")

    assert read_settings(str(file), None) is None

    assert capsys.readouterr().err == (
        f"trio-kafka: {file}:2: num.partition: no such setting: did you mean num.partitions?\n"
    )


def test_a_refused_option_is_printed(capsys):
    assert read_settings(None, ["num.partitions"]) is None

    assert capsys.readouterr().err == "trio-kafka: -c: num.partitions: want name=value\n"


def test_a_file_that_cannot_be_read_is_named(tmp_path, capsys):
    missing = tmp_path / "missing.properties"

    assert read_settings(str(missing), None) is None
    assert read_settings(str(tmp_path), None) is None

    assert capsys.readouterr().err == (
        f"trio-kafka: {missing}: No such file or directory\n"
        f"trio-kafka: {tmp_path}: Is a directory\n"
    )
