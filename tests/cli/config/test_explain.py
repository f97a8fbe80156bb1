from trio_kafka.cli import main


def test_a_setting_is_explained_with_the_value_of_a_file(tmp_path, capsys):
    file = tmp_path / "server.properties"
    file.write_text("num.io.threads=3\n")

    assert main(["config", "explain", "-f", str(file), "num.io.threads"]) == 0

    assert capsys.readouterr().out == (
        "num.io.threads, of brokers\n"
        "  what     Requests that are worked on at once.\n"
        "  type     int\n"
        "  default  8\n"
        "  bounds   at least 1\n"
        f"  value    3, from {file}:1\n"
        "  changed  while the broker runs, for one broker or all\n"
        "  here     is honoured\n"
    )


def test_options_and_environment_count_as_in_a_start(monkeypatch, capsys):
    monkeypatch.setenv("KAFKA_NUM_PARTITIONS", "7")
    assert main(["config", "explain", "num.partitions"]) == 0
    assert "value    7, from environment KAFKA_NUM_PARTITIONS" in capsys.readouterr().out

    assert main(["config", "explain", "-c", "num.partitions=9", "num.partitions"]) == 0
    assert "value    9, from -c" in capsys.readouterr().out


def test_a_name_of_brokers_and_topics_is_explained_twice(capsys):
    assert main(["config", "explain", "compression.type", "retention.ms"]) == 0

    titles = [line for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
    assert titles == [
        "compression.type, of brokers",
        "compression.type, of topics",
        "retention.ms, of topics",
    ]


def test_an_unknown_name_is_told_and_the_others_explained(capsys):
    assert main(["config", "explain", "num.io.thread", "node.id"]) == 2

    told = capsys.readouterr()
    assert told.err == "trio-kafka: num.io.thread: no such setting: did you mean num.io.threads?\n"
    assert told.out.startswith("node.id, of brokers\n")


def test_a_refused_configuration_is_told(capsys):
    assert main(["config", "explain", "-c", "num.partitions=0", "node.id"]) == 2

    assert "num.partitions: 0 is too small" in capsys.readouterr().err
