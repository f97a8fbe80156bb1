"""Settings of a subscription to the metrics of clients: a resource of type CLIENT_METRICS.

Source: KIP-714, and ClientMetricsConfigs of Apache Kafka 4.4.0. Patterns are those of RE2, which
takes linear time whatever they say.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from trio_kafka.attributes import frozen
from trio_kafka.config.setting import ConfigError, int32, settings_of, string_list
from trio_kafka.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    import re2

LABELS: Final = frozenset(
    {
        "client_instance_id",
        "client_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    }
)


@frozen(kw_only=True)
class ClientMetricsConfig:
    """A subscription."""

    interval_ms: int = int32(
        300000, "Interval between the pushes of a client.", low=100, high=3600000
    )
    match: tuple[str, ...] = string_list(
        (), "Clients that push, by label=pattern; none: all clients."
    )
    metrics: tuple[str, ...] = string_list(
        (), "Prefixes of the names of the metrics to push; * for all."
    )


CLIENT_METRICS_SETTINGS: Final = settings_of(ClientMetricsConfig)


def is_client_metrics_setting(name: str, text: str) -> bool:
    """Return whether the name is a setting of a subscription, and the text a value of it."""
    try:
        CLIENT_METRICS_SETTINGS[name].parse(text)
    except (ConfigError, KeyError):
        return False
    return True


def client_metrics_config(texts: Mapping[str, str]) -> ClientMetricsConfig:
    """Return a subscription. Raises ConfigError for a value that cannot be parsed."""
    values = {}
    for name, text in texts.items():
        setting = CLIENT_METRICS_SETTINGS.get(name)
        if setting is None:
            raise ConfigError(name, "is not a setting of client metrics")
        values[setting.field] = setting.parse(text)
    return ClientMetricsConfig(**values)  # type: ignore[arg-type]


def patterns_of(match: tuple[str, ...]) -> dict[str, "re2._Regexp[str]"]:
    """Return the patterns by label; of a label that is named twice, the last one.

    Raises ConfigError for an unknown label, or a text that is no pattern.
    """
    import re2  # noqa: PLC0415 - few brokers have subscriptions

    patterns = {}
    for item in match:
        label, equals, text = (part.strip() for part in item.partition("="))
        if not equals or label not in LABELS or not text or "=" in text:
            reason = f"{item!r}: want label=pattern, with a label of {', '.join(sorted(LABELS))}"
            raise ConfigError("match", reason)
        try:
            patterns[label] = re2.compile(text)
        except re2.error as error:
            raise ConfigError("match", f"{item!r}: {error}") from error
    return patterns


def validate_client_metrics(texts: Mapping[str, str]) -> None:
    """Check the settings of a subscription.

    Raises KafkaError: INVALID_REQUEST, as Kafka; INVALID_CONFIG for a pattern.
    """
    try:
        config = client_metrics_config(texts)
    except ConfigError as error:
        raise KafkaError(ErrorCode.INVALID_REQUEST, str(error)) from error
    try:
        patterns_of(config.match)
    except ConfigError as error:
        raise KafkaError(ErrorCode.INVALID_CONFIG, str(error)) from error
