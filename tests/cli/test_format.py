import json
import sys
from types import ModuleType

import pytest

from trio_kafka.cli import main


@pytest.fixture
def formatted(monkeypatch):
    """The calls of `format_directories`, which stands in for the broker's."""
    calls = []

    def format_directories(config, *, cluster_id, ignore_formatted, users, formatted):
        assert formatted is None
        names = [user.name for user in users]
        calls.append((config.directories, cluster_id, ignore_formatted, names))
        return 0

    module = ModuleType("trio_kafka.broker.main")
    module.format_directories = format_directories
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return calls


def test_format_command_formats_the_directories_of_the_settings(formatted, tmp_path):
    file = tmp_path / "server.properties"
    file.write_text("log.dirs=/a,/b\n")

    assert main(["format", str(file)]) == 0

    assert formatted == [(("/a", "/b"), None, False, [])]


def test_format_command_passes_on_cluster_id_and_ignore_formatted(formatted):
    options = ["--cluster-id", "4L6g3nShT-eMCtK--X86sw", "--ignore-formatted"]

    main(["format", "-c", "log.dirs=/a", *options])

    assert formatted == [(("/a",), "4L6g3nShT-eMCtK--X86sw", True, [])]


def test_format_command_passes_on_the_first_users_of_options_and_files(formatted, tmp_path):
    file = tmp_path / "user"
    file.write_text("SCRAM-SHA-512=[name=bob,password=pw]\n")
    users = ["--add-scram", "SCRAM-SHA-256=[name=ann,password=pw]", "--add-scram", f"@{file}"]

    main(["format", "-c", "log.dirs=/a", *users])

    assert formatted == [(("/a",), None, False, ["ann", "bob"])]


def test_a_malformed_first_user_ends_format_with_status_2_and_hides_its_password(formatted, capsys):
    for text in ("SCRAM-SHA-256=[name=ann,password=s3cret", "@/none"):
        assert main(["format", "-c", "log.dirs=/a", "--add-scram", text]) == 2

    assert formatted == []
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("trio-kafka: --add-scram") for line in lines)
    assert "s3cret" not in lines[0]


def test_format_json_shows_the_new_identity(tmp_path, capsys):
    data = str(tmp_path / "data")

    assert main(["format", "-c", f"log.dirs={data}", "-c", "node.id=3", "--json"]) == 0

    result = json.loads(capsys.readouterr().out)
    properties = (tmp_path / "data" / "meta.properties").read_text()
    assert f"cluster.id={result['cluster_id']}" in properties
    assert (result["node_id"], result["directories"]) == (3, [data])


def test_format_with_refused_settings_ends_with_status_2_and_writes_nothing(formatted, capsys):
    assert main(["format", "-c", "log.dirs="]) == 2

    assert formatted == []
    assert capsys.readouterr().err == "trio-kafka: -c: log.dirs: must not be empty\n"


def test_format_of_a_formatted_directory_is_refused_with_the_cause(tmp_path, capsys):
    arguments = ["format", "-c", f"log.dirs={tmp_path / 'data'}"]
    assert main(arguments) == 0
    capsys.readouterr()

    assert main(arguments) == 1

    output = capsys.readouterr().err
    assert "nothing was formatted" in output
    assert "is already formatted for cluster" in output
    assert "did not start" not in output
