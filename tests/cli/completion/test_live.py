"""Live names for completion."""

import socket
import time

import pytest

from trio_kafka.cli import main
from trio_kafka.cli.completion.live import TIMEOUT_S, groups, profiles, topics


def test_silent_or_absent_broker_has_no_names_and_no_message(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        silent = f"127.0.0.1:{server.getsockname()[1]}"
        began = time.monotonic()
        assert topics(["--bootstrap", silent]) == []
        assert time.monotonic() - began < TIMEOUT_S + 10

    assert groups(["--bootstrap", "127.0.0.1:1"]) == []
    assert topics(["--bootstrap"]) == []
    assert topics(["--profile", "none"]) == []
    assert capsys.readouterr() == ("", "")


def test_profiles_are_those_of_the_user(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("home")))
    main(["profile", "add", "prod", "--bootstrap", "h:1"])

    assert profiles([]) == ["prod"]
