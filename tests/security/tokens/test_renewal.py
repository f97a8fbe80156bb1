"""Times at which a client renews its token: those of Apache Kafka's refreshing login."""

import pytest

from trio_kafka.config.oauth_login import OauthLoginSettings
from trio_kafka.config.setting import declared_settings
from trio_kafka.security.tokens.bearer import BearerToken
from trio_kafka.security.tokens.renewal import Renewal


def token(expires_s: float, begins_s: float | None = 0.0) -> BearerToken:
    return BearerToken(text="t", subject="ann", begins_s=begins_s, expires_s=expires_s)


@pytest.mark.parametrize(
    ("begins_s", "expires_s", "now_s", "chance", "due_s"),
    [
        (0.0, 3600.0, 0.0, 0.0, 2880.0),  # 0.8 of an hour
        (0.0, 3600.0, 0.0, 1.0, 3060.0),  # and 0.05 of jitter
        (None, 3700.0, 100.0, 0.0, 2980.0),  # a token without iat begins now
        (0.0, 1000.0, 0.0, 0.0, 700.0),  # 300 s before its end
        (0.0, 3600.0, 2900.0, 0.0, 2960.0),  # not within a minute
        (0.0, 300.0, 0.0, 0.0, 240.0),  # too short for both: the share alone
        (0.0, 300.0, 200.0, 0.0, 280.0),  # of what is left
    ],
)
def test_token_is_renewed_at_a_share_of_its_life_with_room_on_both_sides(
    begins_s, expires_s, now_s, chance, due_s
):
    assert Renewal().due_s(token(expires_s, begins_s), now_s, chance) == pytest.approx(due_s)


def test_token_that_has_ended_is_due_at_once():
    assert Renewal().due_s(token(50.0), 100.0, 0.5) <= 100.0


def test_defaults_are_those_of_the_settings():
    table = declared_settings(OauthLoginSettings)

    assert Renewal.from_values(lambda name: table[name].default) == Renewal()
