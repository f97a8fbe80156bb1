"""Settings of TLS, `ssl.*`. A listener may have its own, under `listener.name.<name>.`.

docs/design/tls.md says which of Java's possibilities OpenSSL lacks. Source: Apache Kafka 4.4.0.
"""

from trio_kafka.attributes import frozen
from trio_kafka.config.setting import BROKER, boolean, password, string, string_list


@frozen(kw_only=True, init=False, eq=False, repr=False)  # is never made alone
class TlsCommonSettings:
    """TLS settings of brokers and clients. The update mode is that of brokers."""

    ssl_cipher_suites: tuple[str, ...] = string_list(
        (), "Cipher suites that are offered; empty: all that are safe.", update=BROKER
    )
    ssl_enabled_protocols: tuple[str, ...] = string_list(
        ("TLSv1.2", "TLSv1.3"), "Versions of TLS that are offered.", update=BROKER
    )
    ssl_endpoint_identification_algorithm: str | None = string(
        "https",
        "Check of a server's certificate against its host name; empty: none.",
        update=BROKER,
    )
    ssl_key_password: str | None = password(None, "The password of the private key.", update=BROKER)
    ssl_keystore_certificate_chain: str | None = password(
        None, "The certificate chain, in PEM form.", update=BROKER
    )
    ssl_keystore_key: str | None = password(None, "The private key, in PEM form.", update=BROKER)
    ssl_keystore_location: str | None = string(
        None, "The file of key and certificates.", update=BROKER
    )
    ssl_keystore_password: str | None = password(None, "The password of that file.", update=BROKER)
    ssl_keystore_type: str = string("JKS", "The format of that file.", update=BROKER)
    ssl_protocol: str = string("TLSv1.3", "The preferred version of TLS.", update=BROKER)
    ssl_truststore_certificates: str | None = password(
        None, "Trusted certificates, in PEM form.", update=BROKER
    )
    ssl_truststore_location: str | None = string(
        None, "The file of trusted certificates.", update=BROKER
    )
    ssl_truststore_password: str | None = password(
        None, "The password of that file.", update=BROKER
    )
    ssl_truststore_type: str = string("JKS", "The format of that file.", update=BROKER)


@frozen(kw_only=True, init=False, eq=False, repr=False)  # as above
class TlsBrokerSettings(TlsCommonSettings):
    """TLS settings of `BrokerConfig`."""

    ssl_allow_dn_changes: bool = boolean(False, "A renewed certificate may have another name.")
    ssl_allow_san_changes: bool = boolean(
        False, "A renewed certificate may lack alternative names of the old one."
    )
    ssl_client_auth: str = string(
        "none",
        "Demand for a certificate of the client.",
        choices=("required", "requested", "none"),
        update=BROKER,
    )
    ssl_principal_mapping_rules: str = string(
        "DEFAULT", "Rules that map names of certificates to principals."
    )
