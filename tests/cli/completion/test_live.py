"""Live names for completion."""

import socket
import time

import pytest

from tests.cli.kit import Shell
from trio_kafka.cli import main
from trio_kafka.cli.completion.live import TIMEOUT_S, first_groups, groups, profiles, topics
from trio_kafka.controls.values import Record
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k03_metadata import MetadataResponse, MetadataResponseBroker
from trio_kafka.protocol.messages.k16_list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)


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


def test_groups_of_the_first_broker_come_with_the_others_to_ask() -> None:
    def send(request: object) -> MetadataResponse | ListGroupsResponse:
        if isinstance(request, ListGroupsRequest):
            return ListGroupsResponse(groups=[ListedGroup("a"), ListedGroup("b")])
        return MetadataResponse(brokers=brokers)

    brokers = [MetadataResponseBroker(1, "h", 1)]
    assert first_groups(send) == ({"a", "b"}, [])
    brokers.append(MetadataResponseBroker(2, "h", 2))
    assert first_groups(send) == ({"a", "b"}, [Endpoint("h", 1), Endpoint("h", 2)])


def test_groups_of_a_cluster_are_completed_though_a_broker_is_gone(shell: Shell) -> None:
    address = shell.kafka.bootstrap
    shell.kafka.create_topic("read")
    shell.kafka.produce("read", Record(value=b"v"))
    shell.run("consume", "read", "--group", "readers")

    assert "readers" in groups(["--bootstrap", address])
    assert "readers" in groups(["--bootstrap", f"127.0.0.1:1,{address}"])


def test_profiles_are_those_of_the_user(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("home")))
    main(["profile", "add", "prod", "--bootstrap", "h:1"])

    assert profiles([]) == ["prod"]
