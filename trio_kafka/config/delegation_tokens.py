"""Settings of delegation tokens: the key that they are made with, and how long they live (KIP-48).

Without a key no token exists. Tokens of another key are not valid any more.
"""

from trio_kafka.attributes import frozen
from trio_kafka.config.sasl import SaslSettings
from trio_kafka.config.setting import int64, password


@frozen(kw_only=True, init=False, eq=False, repr=False)  # is never made alone
class DelegationTokenSettings(SaslSettings):
    """Delegation token settings of `BrokerConfig`."""

    delegation_token_secret_key: str | None = password(
        None, "The secret that tokens are signed with, the same on every node."
    )
    delegation_token_max_lifetime_ms: int = int64(
        604800000, "A token cannot be renewed beyond this time.", low=1
    )
    delegation_token_expiry_time_ms: int = int64(
        86400000, "A token must be renewed within this time.", low=1
    )
    delegation_token_expiry_check_interval_ms: int = int64(
        3600000, "Interval between searches for expired tokens.", low=1
    )
