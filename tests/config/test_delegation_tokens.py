"""Settings of delegation tokens."""

import pytest

from trio_kafka.config.load import broker_config
from trio_kafka.config.setting import ConfigError


def test_without_a_key_there_are_no_tokens_and_times_are_those_of_kafka() -> None:
    config = broker_config({})

    assert config.delegation_token_secret_key is None
    assert config.delegation_token_max_lifetime_ms == 7 * 86_400_000
    assert config.delegation_token_expiry_time_ms == 86_400_000
    assert config.delegation_token_expiry_check_interval_ms == 3_600_000


def test_the_key_is_in_no_text() -> None:
    config = broker_config({"delegation.token.secret.key": "c4n4ry"})

    assert config.delegation_token_secret_key == "c4n4ry"
    assert "c4n4ry" not in repr(config)


@pytest.mark.parametrize("name", ["max.lifetime", "expiry.time", "expiry.check.interval"])
def test_times_are_at_least_a_millisecond(name: str) -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        broker_config({f"delegation.token.{name}.ms": "0"})
