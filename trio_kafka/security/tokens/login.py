"""Login of a client by OAUTHBEARER, from its login line and settings.

Source: KIP-768, KIP-1139. A setting goes before the option of the login line that it replaces.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

import attrs
from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.config import oauth_login as names
from trio_kafka.config.jaas import HIDDEN, JaasError, Login
from trio_kafka.config.setting import ConfigError, declared_settings
from trio_kafka.config.tls import TlsCommonSettings
from trio_kafka.security.tls.settings import TlsSettings, name_of
from trio_kafka.security.tokens import unsecured
from trio_kafka.security.tokens.bearer import BearerToken, read_token
from trio_kafka.security.tokens.renewal import Renewal
from trio_kafka.security.tokens.sources import (
    GivenToken,
    TokenEndpoint,
    TokenFile,
    TokenSource,
    UnsecuredClaims,
)

JAAS: Final = "sasl.jaas.config"
_DEFAULT_S: Final = 10.0  # of a wait that is not limited in Kafka: not set, or 0
_EXTENSION: Final = "extension_"
_EXTENSION_NAME: Final = re.compile(r"[A-Za-z]+")
_EXTENSION_VALUE: Final = re.compile(r"[\x21-\x7e \t\r\n]+")
_RESERVED: Final = "auth"


@frozen(kw_only=True)
class TokenLogin:
    """Where a client's token comes from, and how long an attempt to get one may be repeated.

    backoff_s: pause after the first failed attempt; it doubles. retries_s: time of all attempts.
    subject, scope: claims that have them. extensions: of SASL, sent with each token.
    """

    source: TokenSource
    renewal: Renewal = field(factory=Renewal)
    backoff_s: float = 0.1
    retries_s: float = 10.0
    subject: str = "sub"
    scope: str = "scope"
    extensions: Mapping[str, str] = field(factory=dict, repr=lambda _: HIDDEN)

    def read(self, text: str) -> BearerToken:
        """Return a token of the source. Raises InvalidTokenError."""
        return read_token(
            text,
            extensions=self.extensions,
            subject=self.subject,
            scope=self.scope,
            is_signed=not isinstance(self.source, UnsecuredClaims),
        )


def token_login(login: Login, value_of: Callable[[str], object]) -> TokenLogin:
    """Return the login of a client. Raises ConfigError, which shows no secret.

    login: of `sasl.jaas.config`. value_of: returns the value of a setting by Kafka's name.
    """
    try:
        source = _source(login.options, value_of)
        extensions = _extensions(login.options, source)
        is_unsecured = isinstance(source, UnsecuredClaims)
        if is_unsecured:
            unsecured.unsecured_token(login.options, 0.0)  # raises for claims that make none
    except JaasError as error:
        raise ConfigError(JAAS, str(error)) from None
    backoff_s, retries_s = (
        _seconds(name, value_of) for name in (names.BACKOFF, names.LONGEST_BACKOFF)
    )
    if retries_s < backoff_s:
        reason = f"is less than {names.BACKOFF}, which is {backoff_s * 1000:g}"
        raise ConfigError(names.LONGEST_BACKOFF, reason)
    subject, scope = str(value_of(names.SUBJECT_CLAIM)), str(value_of(names.SCOPE_CLAIM))
    if is_unsecured:
        subject, scope = (
            unsecured.subject_claim(login.options),
            unsecured.scope_claim(login.options),
        )
    return TokenLogin(
        source=source,
        renewal=Renewal.from_values(value_of),
        backoff_s=backoff_s,
        retries_s=retries_s,
        subject=subject,
        scope=scope,
        extensions=extensions,
    )


def _source(options: Mapping[str, str], value_of: Callable[[str], object]) -> TokenSource:
    handler, url = str(value_of(names.HANDLER) or ""), str(value_of(names.URL) or "")
    if handler != names.UNSECURED:
        if "token" in options:
            return GivenToken(options["token"])
        if url:
            return _at(url, options, value_of)
        if handler:
            raise ConfigError(names.URL, f"is not set: {handler.rpartition('.')[2]} needs it")
    # Never by default: a token that proves nothing is made only for a line that names its claims.
    if not any(name.startswith(unsecured.PREFIX) for name in options):
        example = f'{unsecured.PREFIX}StringClaim_sub="NAME"'
        raise JaasError(f"names no token: set {names.URL}, or for tests {example}")
    return UnsecuredClaims(options)


def _at(url: str, options: Mapping[str, str], value_of: Callable[[str], object]) -> TokenSource:
    parts = urlsplit(url)
    try:
        names.check_url(url)
    except ValueError as error:
        raise ConfigError(names.URL, str(error)) from None
    if parts.scheme.lower() == "file":
        return TokenFile(url2pathname(parts.path))
    client_id = _text(value_of(names.CLIENT_ID), options, "clientId")
    client_secret = _text(value_of(names.CLIENT_SECRET), options, "clientSecret")
    for value, setting, option in (
        (client_id, names.CLIENT_ID, "clientId"),
        (client_secret, names.CLIENT_SECRET, "clientSecret"),
    ):
        if not value:
            raise ConfigError(setting, f'is not set, nor is {option}="..." in {JAAS}')
    return TokenEndpoint(
        url=url,
        client_id=client_id,
        client_secret=client_secret,
        scope=_text(value_of(names.SCOPE), options, "scope"),
        urlencode=value_of(names.URLENCODE) is True,
        connect_s=_seconds(names.CONNECT, value_of) or _DEFAULT_S,
        read_s=_seconds(names.READ, value_of) or _DEFAULT_S,
        tls=_tls_of(options),
    )


def _text(value: object, options: Mapping[str, str], option: str) -> str:
    return (str(value) if value else options.get(option, "")).strip()


def _seconds(name: str, value_of: Callable[[str], object]) -> float:
    """Return a time; 0 for one that is not set."""
    value = int(str(value_of(name) or 0))
    if value < 0:
        raise ConfigError(name, f"{value} is too small: want at least 0")
    return value / 1000


def _extensions(options: Mapping[str, str], source: TokenSource) -> dict[str, str]:
    prefix = unsecured.EXTENSION if isinstance(source, UnsecuredClaims) else _EXTENSION
    extensions = {
        name.removeprefix(prefix): value
        for name, value in options.items()
        if name.startswith(prefix)
    }
    for name, value in extensions.items():
        if name == _RESERVED or not _EXTENSION_NAME.fullmatch(name):
            raise JaasError(
                f"{prefix}{name}: an extension is named by letters, and not {_RESERVED}"
            )
        if not _EXTENSION_VALUE.fullmatch(value):
            raise JaasError(f"{prefix}{name}: want one or more printable characters of ASCII")
    return extensions


def _tls_of(options: Mapping[str, str]) -> TlsSettings:
    """Return TLS towards an endpoint: the `ssl.*` options of the login line, as in Kafka."""
    table = declared_settings(TlsCommonSettings)
    values: dict[str, object] = {}
    make: Callable[..., TlsSettings] = TlsSettings
    try:
        for each in attrs.fields(TlsSettings):
            setting = table.get(name_of(each.name))
            if setting is not None and setting.name in options:
                values[each.name] = setting.parse(options[setting.name])
        settings = make(**values)
        settings.check()
    except ConfigError as error:
        raise ConfigError(JAAS, str(error)) from None
    return settings
