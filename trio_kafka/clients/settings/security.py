"""Security of a client's connections: the protocol, credentials of SASL, settings of TLS."""

from typing import TYPE_CHECKING, Final

from trio_kafka.clients.settings.common import ClientSettings
from trio_kafka.config.jaas import JaasError, Login, parse_jaas
from trio_kafka.config.sasl_names import MODULES, OAUTHBEARER, SERVED
from trio_kafka.config.setting import ConfigError
from trio_kafka.security.tls.settings import TlsSettings

if TYPE_CHECKING:
    from trio_kafka.security.sasl.client import Credentials
    from trio_kafka.security.tokens.login import TokenLogin

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


def credentials(settings: ClientSettings) -> "Credentials | TokenLogin | None":
    """Return the credentials, or where their token comes from; None without SASL.

    Raises ConfigError, which shows no secret.
    """
    if not settings.security_protocol.upper().startswith("SASL_"):
        return None
    mechanism, names = settings.sasl_mechanism.upper(), ", ".join(SERVED)
    if mechanism not in SERVED:
        kerberos = " (Kerberos)" if mechanism == "GSSAPI" else ""
        reason = f"{mechanism}{kerberos} is not supported: want one of {names}"
        raise ConfigError("sasl.mechanism", reason)
    if settings.sasl_jaas_config is None:
        example = "" if mechanism == OAUTHBEARER else ' username="..." password="..."'
        reason = f"is not set: want {MODULES[mechanism]} required{example};"
        raise ConfigError(_JAAS, reason)
    try:
        return _of_line(mechanism, parse_jaas(settings.sasl_jaas_config), settings)
    except JaasError as error:
        raise ConfigError(_JAAS, str(error)) from None


def _of_line(mechanism: str, login: Login, settings: ClientSettings) -> "Credentials | TokenLogin":
    module = MODULES[mechanism]
    if login.module != module:
        raise JaasError(f"names {login.module}: sasl.mechanism {mechanism} needs {module}")
    # Imported here: most programs that read settings use no SASL.
    if mechanism == OAUTHBEARER:
        from trio_kafka.security.tokens.login import token_login  # noqa: PLC0415 - see above

        return token_login(login, lambda name: getattr(settings, name.replace(".", "_")))
    from trio_kafka.security.sasl.client import credentials_of  # noqa: PLC0415 - see above

    return credentials_of(mechanism, login)
