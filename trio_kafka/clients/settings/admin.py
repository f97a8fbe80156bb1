"""Settings of the admin client."""

from trio_kafka.attributes import frozen
from trio_kafka.clients.settings.common import ClientSettings
from trio_kafka.config.setting import boolean, int32, int64
from trio_kafka.config.values import MAX_INT


@frozen(kw_only=True)
class AdminSettings(ClientSettings):
    """Settings of an admin client."""

    connections_max_idle_ms: int = int64(300000, "Idle timeout of a connection.")
    default_api_timeout_ms: int = int32(
        60000, "Time for all attempts of a call, unless it names another one.", low=0
    )
    enable_metrics_push: bool = boolean(
        False, "Metrics are pushed to brokers that have subscribed to them (KIP-714)."
    )
    retries: int = int32(MAX_INT, "Attempts after the first one.", low=0, high=MAX_INT)

    @property
    def default_api_timeout_s(self) -> float:
        return self.default_api_timeout_ms / 1000
