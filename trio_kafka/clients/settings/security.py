"""Security of a client's connections: the protocol, credentials of SASL, settings of TLS."""

from typing import TYPE_CHECKING, Final

from trio_kafka.clients.settings.common import ClientSettings
from trio_kafka.config.jaas import JaasError, parse_jaas
from trio_kafka.config.sasl_names import MODULES, PLAIN, SCRAM
from trio_kafka.config.setting import ConfigError
from trio_kafka.security.tls.settings import TlsSettings

if TYPE_CHECKING:
    from trio_kafka.security.sasl.client import Credentials

_MECHANISMS: Final = (PLAIN, *SCRAM)
_JAAS: Final = "sasl.jaas.config"


def check_security(settings: ClientSettings) -> None:
    """Raise ConfigError, which shows no secret, if no connection could be opened."""
    credentials(settings)
    tls = tls_settings(settings)
    if tls is not None:
        tls.check()


def tls_settings(settings: ClientSettings) -> TlsSettings | None:
    """Return the settings of TLS; None without TLS."""
    if not settings.security_protocol.upper().endswith("SSL"):
        return None
    return TlsSettings.from_fields(settings)


def credentials(settings: ClientSettings) -> "Credentials | None":
    """Return the credentials; None without SASL. Raises ConfigError, which shows no secret."""
    if not settings.security_protocol.upper().startswith("SASL_"):
        return None
    mechanism, names = settings.sasl_mechanism.upper(), ", ".join(_MECHANISMS)
    if mechanism not in _MECHANISMS:
        kerberos = " (Kerberos)" if mechanism == "GSSAPI" else ""
        reason = f"{mechanism}{kerberos} is not supported: want one of {names}"
        raise ConfigError("sasl.mechanism", reason)
    # Imported here: most programs that read settings use no SASL.
    from trio_kafka.security.sasl.client import credentials_of  # noqa: PLC0415 - see above

    module = MODULES[mechanism]
    if settings.sasl_jaas_config is None:
        reason = f'is not set: want {module} required username="..." password="...";'
        raise ConfigError(_JAAS, reason)
    try:
        login = parse_jaas(settings.sasl_jaas_config)
        if login.module != module:
            raise JaasError(f"names {login.module}: sasl.mechanism {mechanism} needs {module}")
        return credentials_of(mechanism, login)
    except JaasError as error:
        raise ConfigError(_JAAS, str(error)) from None
