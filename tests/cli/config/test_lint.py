import json

from trio_kafka.cli import main


def test_config_lint_of_a_valid_file_prints_nothing(tmp_path, capsys):
    file = tmp_path / "a.properties"
    file.write_text("num.partitions=3\n")

    assert main(["config", "lint", str(file)]) == 0
    assert capsys.readouterr().out == ""


def test_config_lint_reports_every_error_and_warning_and_ends_with_status_2(tmp_path, capsys):
    file = tmp_path / "a.properties"
    file.write_text(
        "num.partitions=0\nnum.io.thread=1\nshare.coordinator.threads=2\nnum.partitions=-1"
    )
    toml = tmp_path / "b.toml"
    toml.write_text("foo = 1\n")

    assert main(["config", "lint", str(file), str(toml), "-c", "node.id=x"]) == 2

    why = "is not supported yet: share groups are not implemented"
    assert capsys.readouterr().out.splitlines() == [
        f"{file}:1: warning: num.partitions is given again at {file}:4",
        f"{toml}: error: foo: no such setting",
        f"{file}:4: error: num.partitions: -1 is too small: want at least 1",
        f"{file}:2: error: num.io.thread: no such setting: did you mean num.io.threads?",
        f"{file}:3: warning: share.coordinator.threads {why}",
        "-c: error: node.id: 'x' is not a whole number",
    ]


def test_config_lint_json_is_one_object_per_line(tmp_path, capsys):
    file = tmp_path / "a.properties"
    file.write_text("num.io.thread=1\nshare.coordinator.threads=2\n")

    assert main(["config", "lint", str(file), "--json"]) == 2

    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert first == {
        "level": "error",
        "where": f"{file}:1",
        "text": "num.io.thread: no such setting: did you mean num.io.threads?",
    }
    assert second["level"] == "warning"


def test_config_lint_with_warnings_only_ends_with_status_0(capsys):
    assert main(["config", "lint", "-c", "share.coordinator.threads=2"]) == 0
    assert "warning: share.coordinator.threads is not supported yet" in capsys.readouterr().out


def test_config_lint_checks_the_environment_except_with_no_env(monkeypatch, capsys):
    monkeypatch.setenv("KAFKA_NUM_PARTITIONS", "0")
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "a:1")

    assert main(["config", "lint"]) == 2
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("warning: environment KAFKA_BOOTSTRAP_SERVERS: ")
    assert second.startswith("environment KAFKA_NUM_PARTITIONS: error: num.partitions: 0 is")
    assert main(["config", "lint", "--no-env"]) == 0


def test_unreadable_source_of_settings_is_reported_as_an_error(tmp_path, monkeypatch, capsys):
    missing = tmp_path / "none"

    assert main(["config", "lint", str(missing)]) == 2
    assert capsys.readouterr().out == f"error: {missing}: No such file or directory\n"
    monkeypatch.setenv("KAFKA_NUM_PARTITION", "1")
    assert main(["config", "lint"]) == 2
    assert capsys.readouterr().out.startswith("environment KAFKA_NUM_PARTITION: error: ")
