"""Tokens of OAUTHBEARER: given, from a file, from a token endpoint, or unsecured.

An unsecured token proves nothing: it is what Kafka's default login makes, for tests.
Source: RFC 6749 §4.4 (client credentials), RFC 7515 (unsecured JWS), KIP-255 and KIP-768 (options).
"""

import base64
import json
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from trio_kafka.config.jaas import Login
from trio_kafka.strict_json import parse_json
from trio_kafka_spark.client.errors import AuthenticationError, OptionError
from trio_kafka_spark.client.options import KAFKA_OPTIONS
from trio_kafka_spark.client.secret import Secret, resolve
from trio_kafka_spark.client.security import OPTION, Sasl, Tls

URL: Final = "kafka.sasl.oauthbearer.token.endpoint.url"
_LARGEST_ANSWER: Final = 1 << 20
_STRING: Final = "unsecuredLoginStringClaim_"
_NUMBER: Final = "unsecuredLoginNumberClaim_"
_LIST: Final = "unsecuredLoginListClaim_"
_EXTENSION: Final = "unsecuredLoginExtension_"
_LIFETIME_S: Final = 3600
_TLS: Final = "security.tls."


def bearer_token(sasl: Sasl, login: Login) -> tuple[str, Mapping[str, str]]:
    """A token and its SASL extensions.

    Raises OptionError, AuthenticationError; OSError if the endpoint cannot be reached.
    """
    options = login.options
    if "token" in options:
        return options["token"], {}
    if sasl.token_url:
        extensions = {
            key.removeprefix("extension_"): value
            for key, value in options.items()
            if key.startswith("extension_")
        }
        return _from_url(sasl, options), extensions
    extensions = {
        key.removeprefix(_EXTENSION): value
        for key, value in options.items()
        if key.startswith(_EXTENSION)
    }
    return unsecured_token(options, time.time()), extensions


def unsecured_token(options: Mapping[str, str], now_s: float) -> str:
    """A token without a signature, of the claims that the JAAS options name."""
    claims: dict[str, object] = {}
    for key, value in options.items():
        if key.startswith(_STRING):
            claims[key.removeprefix(_STRING)] = value
        elif key.startswith(_NUMBER):
            claims[key.removeprefix(_NUMBER)] = _number(key, value)
        elif key.startswith(_LIST):
            items = value[1:].split(value[0]) if value else []
            claims[key.removeprefix(_LIST)] = items
    principal = options.get("unsecuredLoginPrincipalClaimName", "sub")
    if not claims.get(principal):
        raise OptionError(
            OPTION,
            f'names no principal: want {_STRING}{principal}="...", token="...", or {URL}',
        )
    lifetime = options.get("unsecuredLoginLifetimeSeconds", str(_LIFETIME_S))
    claims.setdefault("iat", round(now_s, 3))
    claims.setdefault("exp", round(now_s + _number("unsecuredLoginLifetimeSeconds", lifetime), 3))
    parts = (json.dumps(part).encode() for part in ({"alg": "none"}, claims))
    return ".".join([*(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts), ""])


def _number(key: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise OptionError(OPTION, f"{key} is no number") from None


def _from_url(sasl: Sasl, options: Mapping[str, str]) -> str:
    url = urllib.parse.urlsplit(sasl.token_url)
    if url.scheme == "file":
        try:
            return Path(urllib.request.url2pathname(url.path)).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise OptionError(URL, f"{url.path}: {error.strerror}") from None
    if url.scheme not in ("https", "http"):
        raise OptionError(URL, f"{url.scheme}: want https:, http: or file:")
    return _requested(sasl, options)


def _requested(sasl: Sasl, options: Mapping[str, str]) -> str:
    """A token for the client's credentials."""
    client = sasl.client_id_oauth or options.get("clientId")
    secret = (
        sasl.client_secret.reveal()
        if sasl.client_secret is not None
        else options.get("clientSecret")
    )
    if not client or not secret:
        raise OptionError(OPTION, 'the token endpoint needs clientId="..." and clientSecret="..."')
    form = {"grant_type": "client_credentials"}
    scope = sasl.scope or options.get("scope")
    if scope:
        form["scope"] = scope
    if sasl.urlencode_header:
        client, secret = urllib.parse.quote_plus(client), urllib.parse.quote_plus(secret)
    credentials = base64.b64encode(f"{client}:{secret}".encode()).decode()
    request = urllib.request.Request(  # noqa: S310 - the scheme is checked
        sasl.token_url,
        data=urllib.parse.urlencode(form).encode(),
        headers={"Authorization": f"Basic {credentials}", "Accept": "application/json"},
    )
    try:
        with urllib.request.urlopen(  # noqa: S310
            request, timeout=sasl.login_timeout_ms / 1000, context=_context(options)
        ) as answer:
            body = answer.read(_LARGEST_ANSWER)
    except urllib.error.HTTPError as error:
        with error:
            raise AuthenticationError(
                f"the token endpoint answered {error.code} {error.reason}: check the client id"
                " and its secret"
            ) from None
    return _token_in(body)


def _token_in(body: bytes) -> str:
    try:
        token = parse_json(body)["access_token"]
    except (ValueError, KeyError, TypeError):
        token = None
    if (
        not isinstance(token, str)
        or not token
        or any(not "!" <= character <= "~" for character in token)
    ):
        raise AuthenticationError("the token endpoint's answer has no access_token")
    return token


def _context(options: Mapping[str, str]) -> ssl.SSLContext:
    """TLS towards the endpoint, by the `ssl.*` options of the JAAS line, as in Kafka."""
    from trio_kafka_spark.client.tls import context_of  # noqa: PLC0415 - cryptography

    values: dict[str, Any] = {}
    for name, value in options.items():
        option = KAFKA_OPTIONS.get(name)
        if option is None or option.target is None or not option.target.startswith(_TLS):
            continue
        try:
            parsed = Secret(name, value) if option.secret else option.parse(resolve(name, value))
        except ValueError as error:
            raise OptionError(OPTION, f"{name}: {error}") from None
        values[option.target.removeprefix(_TLS)] = parsed
    return context_of(Tls(**values))
