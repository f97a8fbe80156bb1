"""docs/how-to/look-inside.md: its commands are there, its settings are taken."""

import re

import pytest

from tests.project.tree import ROOT
from trio_kafka.cli import main
from trio_kafka.config.load import load
from trio_kafka.config.properties import parse_properties
from trio_kafka.introspect.levels import has_logger
from trio_kafka.requests.request_log.sinks import LOGGER

GUIDE = (ROOT / "docs" / "how-to" / "look-inside.md").read_text()
COMMANDS = re.findall(r"^trio-kafka (.*)$", GUIDE, re.MULTILINE)
SETTINGS = re.findall(r"^    (trio\..*=.*)$", GUIDE, re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_look_inside_guide_is_parsed(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No broker listens at port 1: each command reports that, and nothing else."""
    monkeypatch.setenv("TRIO_KAFKA_BOOTSTRAP", "127.0.0.1:1")
    arguments = re.findall(r'"[^"]*"|\S+', command)

    assert main([argument.strip('"') for argument in arguments]) == 1
    assert capsys.readouterr().err.startswith("trio-kafka: 127.0.0.1:1: connection refused: ")


def test_settings_in_the_look_inside_guide_are_accepted() -> None:
    loaded = load(parse_properties("\n".join(SETTINGS), "guide"))

    assert len(SETTINGS) == 4
    assert (loaded.config.trio_request_log, loaded.warnings) == ("topic", ())


def test_every_setting_named_in_the_look_inside_guide_exists() -> None:
    named = set(re.findall(r"`(trio\.[a-z.]+)", GUIDE))

    fields = {name.replace(".", "_") for name in named}
    assert {field_ for field_ in fields if not hasattr(load().config, field_)} == set()


def test_logger_named_in_the_look_inside_guide_exists() -> None:
    assert has_logger(LOGGER)
    assert f"{LOGGER}=DEBUG" in GUIDE
