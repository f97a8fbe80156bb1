"""A TLS context from the `kafka.ssl.*` options, by the code of all clients."""

import ssl

from trio_kafka.config.setting import ConfigError
from trio_kafka.security.tls.contexts import client_context
from trio_kafka.security.tls.settings import TlsSettings
from trio_kafka_spark.client.errors import OptionError
from trio_kafka_spark.client.secret import Secret
from trio_kafka_spark.client.security import Tls


def context_of(tls: Tls) -> ssl.SSLContext:
    """The context of all connections. Raises OptionError; reads the files that are named."""
    settings = TlsSettings(
        keystore_type=tls.keystore_type,
        keystore_location=tls.keystore_location or None,
        keystore_password=_revealed(tls.keystore_password),
        keystore_certificate_chain=_revealed(tls.keystore_chain),
        keystore_key=_revealed(tls.keystore_key),
        key_password=_revealed(tls.key_password),
        truststore_type=tls.truststore_type,
        truststore_location=tls.truststore_location or None,
        truststore_password=_revealed(tls.truststore_password),
        truststore_certificates=_revealed(tls.truststore_certificates),
        enabled_protocols=tls.protocols,
        cipher_suites=tls.ciphers,
        endpoint_identification_algorithm=tls.identification,
    )
    try:
        return client_context(settings)
    except ConfigError as error:
        reason = error.reason
        if "No such file" in reason:
            reason += "; every machine that connects needs this file"
        raise OptionError(f"kafka.{error.name}", reason) from None


def _revealed(secret: Secret | None) -> str | None:
    return None if secret is None else secret.reveal()
