"""Settings of the Java runtime: security providers, Kerberos, metrics."""

from trio_kafka.attributes import frozen
from trio_kafka.config.setting import BROKER, int32, string


@frozen(kw_only=True)
class JvmSettings:
    """Settings of the Java runtime: security providers, Kerberos, metrics."""

    kafka_metrics_polling_interval_secs: int = int32(
        10, "Interval between calls of the classes that report metrics.", low=1
    )
    sasl_kerberos_kinit_cmd: str = string(
        "/usr/bin/kinit", "Path of the kinit command.", update=BROKER
    )
    security_providers: str | None = string(
        None, "Security providers of the runtime that are registered."
    )
    ssl_keymanager_algorithm: str = string(
        "SunX509", "The runtime's algorithm of key managers.", update=BROKER
    )
    ssl_provider: str | None = string(
        None, "The runtime's security provider for TLS.", update=BROKER
    )
    ssl_secure_random_implementation: str | None = string(
        None, "The runtime's random numbers for TLS.", update=BROKER
    )
    ssl_trustmanager_algorithm: str = string(
        "PKIX", "The runtime's algorithm of trust managers.", update=BROKER
    )
