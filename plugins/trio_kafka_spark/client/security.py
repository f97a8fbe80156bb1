"""Settings of TLS and SASL, checked as far as that needs no file and no network.

Values only: `tls.py` makes a context of them, `sasl.py` a login.
"""

from collections.abc import Mapping
from typing import Any, Final, Self

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.config.jaas import JaasError, Login, parse_jaas
from trio_kafka.config.oauth_login import OauthLoginSettings
from trio_kafka.config.sasl_names import MODULES, OAUTHBEARER
from trio_kafka.config.setting import ConfigError, declared_settings
from trio_kafka.security.tokens.login import TokenLogin, token_login
from trio_kafka_spark.client.errors import OptionError
from trio_kafka_spark.client.secret import Secret

OPTION: Final = "kafka.sasl.jaas.config"
_OAUTH: Final = "oauth."


@frozen(kw_only=True)
class Tls:
    """Stores, and what is asked of the broker's certificate; paths are those of each executor."""

    truststore_type: str = ""
    truststore_location: str = ""
    truststore_password: Secret | None = None
    truststore_certificates: Secret | None = None
    keystore_type: str = ""
    keystore_location: str = ""
    keystore_password: Secret | None = None
    keystore_chain: Secret | None = None
    keystore_key: Secret | None = None
    key_password: Secret | None = None
    identification: str = "https"
    protocols: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")
    ciphers: tuple[str, ...] = ()

    def __attrs_post_init__(self) -> None:
        """Refuse what Kafka refuses: text and file together, a chain without its key."""
        if self.truststore_certificates and self.truststore_location:
            raise OptionError(
                "kafka.ssl.truststore.certificates",
                "stands beside kafka.ssl.truststore.location: give one of them",
            )
        if (self.keystore_chain or self.keystore_key) and self.keystore_location:
            raise OptionError(
                "kafka.ssl.keystore.key", "stands beside kafka.ssl.keystore.location: give one"
            )
        if (self.keystore_chain is None) != (self.keystore_key is None):
            missing = "key" if self.keystore_key is None else "certificate.chain"
            raise OptionError(
                f"kafka.ssl.keystore.{missing}", "is missing: give key and certificate chain"
            )


@frozen(kw_only=True)
class Sasl:
    """Credentials. oauth: settings of OAUTHBEARER by Kafka's names, as values or Secrets."""

    mechanism: str = ""
    jaas: Secret | None = None
    oauth: Mapping[str, Any] = field(factory=dict)

    @property
    def needs_lookup(self) -> bool:
        """A variable must be looked up on the machine that logs in."""
        secrets = [self.jaas, *self.oauth.values()]
        return any(isinstance(value, Secret) and value.is_variable for value in secrets)

    def token_login(self) -> TokenLogin:
        """The login of OAUTHBEARER. Raises OptionError: without secrets."""
        table = declared_settings(OauthLoginSettings)

        def value_of(name: str) -> object:
            value = self.oauth.get(name, table[name].default)
            return value.reveal() if isinstance(value, Secret) else value

        try:
            return token_login(self.login(), value_of)
        except ConfigError as error:
            raise OptionError(f"kafka.{error.name}", error.reason) from None

    def login(self) -> Login:
        """The parsed JAAS line, for the mechanism in use. Raises OptionError: without secrets."""
        module = MODULES[self.mechanism]
        if self.jaas is None:
            raise OptionError(OPTION, f"is missing: want a line for {module}")
        try:
            login = parse_jaas(self.jaas.reveal())
        except JaasError as error:
            raise OptionError(OPTION, str(error)) from None
        if login.module != module:
            raise OptionError(
                OPTION, f"names {login.module}: sasl.mechanism {self.mechanism} needs {module}"
            )
        return login


@frozen(kw_only=True)
class Security:
    """The protocol of all connections."""

    protocol: str = "PLAINTEXT"
    tls: Tls = field(factory=Tls)
    sasl: Sasl = field(factory=Sasl)

    @property
    def uses_tls(self) -> bool:
        return self.protocol in ("SSL", "SASL_SSL")

    @property
    def uses_sasl(self) -> bool:
        return self.protocol in ("SASL_PLAINTEXT", "SASL_SSL")

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """From values by field, as `protocol`, `tls.ciphers`. Raises OptionError."""
        parts: dict[str, dict[str, Any]] = {"tls": {}, "sasl": {}}
        own = {}
        for name, value in values.items():
            part, _, attribute = name.partition(".")
            if attribute:
                parts[part][attribute] = value
            else:
                own[name] = value
        sasl = parts["sasl"]
        names = [name for name in sasl if name.startswith(_OAUTH)]
        oauth = {name.removeprefix(_OAUTH): sasl.pop(name) for name in names}
        settings = cls(**own, tls=Tls(**parts["tls"]), sasl=Sasl(**sasl, oauth=oauth))
        if settings.uses_sasl:
            _check(settings.sasl)
        return settings


def _check(sasl: Sasl) -> None:
    option = "kafka.sasl.mechanism"
    mechanisms = ", ".join(MODULES)
    if sasl.mechanism in ("", "GSSAPI"):
        mechanism = (
            "GSSAPI (Kerberos), Kafka's default," if not sasl.mechanism else "GSSAPI (Kerberos)"
        )
        raise OptionError(option, f"{mechanism} is not supported: set one of {mechanisms}")
    if sasl.mechanism not in MODULES:
        raise OptionError(option, f"{sasl.mechanism!r} is not supported: set one of {mechanisms}")
    if sasl.needs_lookup:
        return
    if sasl.mechanism == OAUTHBEARER:
        sasl.token_login()
    else:
        sasl.login()
