"""Helpers of the commands of tokens."""

import pytest

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.token.tokens import duration_option, kafka_words, moment, principal_option


def test_a_duration_that_is_not_given_is_that_of_the_broker() -> None:
    assert duration_option("--period", None) == -1
    assert duration_option("--period", "2d") == 172_800_000
    with pytest.raises(CommandFailedError, match="--period: '2' is not a duration"):
        duration_option("--period", "2")


def test_principals_have_a_type_and_a_name() -> None:
    assert principal_option("--owner", "User:a:b") == "User:a:b"
    with pytest.raises(CommandFailedError, match="--owner: principal 'User:'"):
        principal_option("--owner", "User:")


def test_kafkas_own_command_needs_a_file_with_a_login() -> None:
    words = kafka_words("h:1", "--create")

    assert words[1:] == [
        "--bootstrap-server",
        "h:1",
        "--command-config",
        "client.properties",
        "--create",
    ]
    assert moment(0) == "1970-01-01T00:00:00.000Z"
