"""The plugin's settings: what would mask nothing, or could be guessed, is not started."""

import pytest
from trio.testing import MockClock

from tests.trio_kafka_builtin.mask.kit import masking
from trio_kafka.broker import StartError
from trio_kafka.config.setting import ConfigError
from trio_kafka.plugin_host.settings import settings_of_plugin
from trio_kafka_builtin.mask.plugin import mask


@pytest.mark.parametrize("rules", ["", "people: ssn=hash", "people: ssn"])
async def test_a_broker_does_not_start_with_missing_or_invalid_mask_rules(
    rules: str, autojump_clock: MockClock
) -> None:
    with pytest.raises(BaseException) as raised:
        async with masking(rules=rules):
            pass

    assert "mask" in repr(raised.value) + str(raised.value)


@pytest.mark.parametrize("policy", ["isolate", "restart", "fatal"])
async def test_a_broker_does_not_start_with_hash_rules_and_no_salt_whatever_the_policy(
    policy: str, autojump_clock: MockClock
) -> None:
    with pytest.raises(StartError, match=r"plugin mask: plugin\.mask\.salt must be set"):
        async with masking(rules="people: ssn=hash", policy=policy):
            pass


def test_mask_rules_are_checked_when_the_setting_is_parsed() -> None:
    setting = settings_of_plugin(mask)["plugin.mask.rules"]

    with pytest.raises(ConfigError, match="redact, hash or last"):
        setting.parse("people: ssn=hide")
    assert settings_of_plugin(mask)["plugin.mask.salt"].sensitive
