import json

import pytest

from trio_kafka.cli import main


def test_config_explain_shows_the_value_of_a_setting_from_a_file(tmp_path, capsys):
    file = tmp_path / "server.properties"
    file.write_text("num.io.threads=3\n")

    assert main(["config", "explain", "-f", str(file), "num.io.threads"]) == 0

    assert capsys.readouterr().out == (
        "num.io.threads, of brokers\n"
        "  what     Requests that are worked on at once.\n"
        "  type     int\n"
        "  default  8\n"
        "  bounds   at least 1\n"
        "  value    3\n"
        f"  source   from {file}:1\n"
        "  changed  while the broker runs, for one broker or all\n"
        "  support  is supported\n"
    )


def test_config_explain_takes_options_and_environment_into_account(monkeypatch, capsys):
    monkeypatch.setenv("KAFKA_NUM_PARTITIONS", "7")
    assert main(["config", "explain", "num.partitions"]) == 0
    assert "source   from environment KAFKA_NUM_PARTITIONS" in capsys.readouterr().out

    assert main(["config", "explain", "-c", "num.partitions=9", "num.partitions"]) == 0
    assert "source   from -c" in capsys.readouterr().out


def test_setting_of_brokers_and_topics_is_explained_twice(capsys):
    assert main(["config", "explain", "compression.type", "retention.ms"]) == 0

    titles = [line for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
    assert titles == [
        "compression.type, of brokers",
        "compression.type, of topics",
        "retention.ms, of topics",
    ]


def test_unknown_setting_is_reported_and_the_other_settings_are_explained(capsys):
    assert main(["config", "explain", "num.oi.threads", "node.id"]) == 2

    output = capsys.readouterr()
    assert (
        output.err == "trio-kafka: num.oi.threads: no such setting: did you mean num.io.threads?\n"
    )
    assert output.out.startswith("node.id, of brokers\n")


def test_config_explain_reports_a_refused_configuration(capsys):
    assert main(["config", "explain", "-c", "num.partitions=0", "node.id"]) == 2

    assert "num.partitions: 0 is too small" in capsys.readouterr().err


def test_config_explain_without_a_name_lists_every_setting(capsys):
    assert main(["config", "explain", "-c", "num.partitions=7"]) == 0

    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["SETTING", "OF", "VALUE", "DESCRIPTION"]
    result = {(line.split()[0], line.split()[1]) for line in lines}
    assert {("num.io.threads", "brokers"), ("retention.ms", "topics")} <= result
    assert ("plugin.http.listeners", "plugin") in result
    assert any(line.split()[:3] == ["num.partitions", "brokers", "7"] for line in lines)


def test_config_explain_of_a_partial_name_lists_all_matching_settings(capsys):
    assert main(["config", "explain", "Flush.interval"]) == 0

    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]]
    assert {"log.flush.interval.ms", "log.flush.interval.messages"} <= set(names)
    assert all("flush." in name for name in names)


@pytest.mark.parametrize("word", ["num.io", "plugin.http.max.body"])
def test_partial_name_that_matches_one_setting_explains_that_setting(word, capsys):
    assert main(["config", "explain", word]) == 0

    assert capsys.readouterr().out.startswith(word)


def test_config_explain_json_is_one_object_per_line(capsys):
    assert main(["config", "explain", "--json", "num.io.threads", "compression.type"]) == 0

    result = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["name"], row["of"]) for row in result] == [
        ("num.io.threads", "brokers"),
        ("compression.type", "brokers"),
        ("compression.type", "topics"),
    ]
    assert (result[0]["value"], result[0]["source"]) == ("8", "the default")
