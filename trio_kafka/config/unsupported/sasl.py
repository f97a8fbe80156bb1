"""Settings of SASL and delegation tokens."""

from trio_kafka.attributes import frozen
from trio_kafka.config.setting import BROKER, double, int16, int32, int64, password, string, texts


@frozen(kw_only=True)
class SaslSettings:
    """Settings of SASL and delegation tokens."""

    connection_failed_authentication_delay_ms: int = int32(
        100, "Delay before a connection that failed to authenticate is closed.", low=0
    )
    connections_max_reauth_ms: int = int64(
        0, "The longest life of an authenticated session; 0: no limit."
    )
    delegation_token_expiry_check_interval_ms: int = int64(
        3600000, "Interval between searches for expired tokens.", low=1
    )
    delegation_token_expiry_time_ms: int = int64(
        86400000, "A token must be renewed within this time.", low=1
    )
    delegation_token_max_lifetime_ms: int = int64(
        604800000, "A token cannot be renewed beyond this time.", low=1
    )
    delegation_token_secret_key: str | None = password(
        None, "The secret that tokens are signed with, the same on every node."
    )
    sasl_enabled_mechanisms: tuple[str, ...] = texts(
        ("GSSAPI",), "Mechanisms that are offered.", update=BROKER
    )
    sasl_jaas_config: str | None = password(
        None, "The login of a listener's mechanism, in JAAS form.", update=BROKER
    )
    sasl_kerberos_min_time_before_relogin: int = int64(
        60000, "Pause between two attempts to refresh a ticket.", update=BROKER
    )
    sasl_kerberos_principal_to_local_rules: tuple[str, ...] = texts(
        ("DEFAULT",), "Rules that map principals to short names.", update=BROKER
    )
    sasl_kerberos_service_name: str | None = string(
        None, "The principal name that the broker runs as.", update=BROKER
    )
    sasl_kerberos_ticket_renew_jitter: float = double(
        0.05, "Random share of the time of renewal.", update=BROKER
    )
    sasl_kerberos_ticket_renew_window_factor: float = double(
        0.8, "Share of a ticket's life after which it is renewed.", update=BROKER
    )
    sasl_login_connect_timeout_ms: int | None = int32(
        None, "Longest time for a connection to an authentication provider."
    )
    sasl_login_read_timeout_ms: int | None = int32(
        None, "Longest wait for the response of an authentication provider."
    )
    sasl_login_refresh_buffer_seconds: int = int16(
        300, "Time before its expiry at which a credential is refreshed.", update=BROKER
    )
    sasl_login_refresh_min_period_seconds: int = int16(
        60, "Pause between two refreshes of a credential.", update=BROKER
    )
    sasl_login_refresh_window_factor: float = double(
        0.8, "Share of a credential's life after which it is refreshed.", update=BROKER
    )
    sasl_login_refresh_window_jitter: float = double(
        0.05, "Random share of the time of the refresh.", update=BROKER
    )
    sasl_login_retry_backoff_max_ms: int = int64(
        10000, "Longest pause before an authentication provider is asked again."
    )
    sasl_login_retry_backoff_ms: int = int64(
        100, "First pause before an authentication provider is asked again."
    )
    sasl_mechanism_controller_protocol: str = string(
        "GSSAPI", "The mechanism for connections to controllers."
    )
    sasl_mechanism_inter_broker_protocol: str = string(
        "GSSAPI", "The mechanism for connections between brokers.", update=BROKER
    )
    sasl_server_max_receive_size: int = int32(
        524288, "The largest request before a connection is authenticated."
    )
