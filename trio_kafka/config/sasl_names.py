"""Names of the mechanisms of SASL, and of the login modules that Kafka's settings name for them."""

from collections.abc import Mapping
from typing import Final

PLAIN: Final = "PLAIN"
SCRAM: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")
OAUTHBEARER: Final = "OAUTHBEARER"
SERVED: Final = (PLAIN, *SCRAM, OAUTHBEARER)
"""Mechanisms that a listener may enable."""
MODULES: Final[Mapping[str, str]] = {
    PLAIN: "PlainLoginModule",
    **dict.fromkeys(SCRAM, "ScramLoginModule"),
    OAUTHBEARER: "OAuthBearerLoginModule",
}
"""Login modules by mechanism."""
