"""Settings of TLS and SASL, checked as far as that needs no file and no network.

Values only: `tls.py` makes a context of them, `sasl.py` a login.
"""

from collections.abc import Mapping
from typing import Any, Final, Self

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.config.jaas import JaasError, Login, parse_jaas
from trio_kafka.config.sasl_names import MODULES
from trio_kafka_spark.client.errors import OptionError
from trio_kafka_spark.client.secret import Secret

OPTION: Final = "kafka.sasl.jaas.config"
_OAUTH: Final = "org.apache.kafka.common.security.oauthbearer"
_HANDLERS: Final = (
    "",
    f"{_OAUTH}.OAuthBearerLoginCallbackHandler",
    f"{_OAUTH}.secured.OAuthBearerLoginCallbackHandler",
    f"{_OAUTH}.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler",
)


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
    """Credentials, and how a token is found."""

    mechanism: str = ""
    jaas: Secret | None = None
    login_handler: str = ""
    token_url: str = ""
    client_id_oauth: str = ""
    client_secret: Secret | None = None
    scope: str = ""
    urlencode_header: bool = False
    login_timeout_ms: int = 10_000

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
        settings = cls(**own, tls=Tls(**parts["tls"]), sasl=Sasl(**parts["sasl"]))
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
    if sasl.login_handler not in _HANDLERS:
        raise OptionError(
            "kafka.sasl.login.callback.handler.class",
            f"{sasl.login_handler} is a Java class that cannot run here: use the login options of"
            " OAuthBearerLoginModule, or kafka.sasl.oauthbearer.token.endpoint.url",
        )
    if sasl.jaas is None or not sasl.jaas.is_variable:
        sasl.login()
