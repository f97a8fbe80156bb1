"""Java's names of TLS versions and cipher suites, for OpenSSL.

Python 3.11 cannot choose among the suites of TLS 1.3: naming one allows all three. Naming none of
them turns TLS 1.3 off, as in Java.
"""

import re
import ssl
from functools import cache
from typing import Final

from trio_kafka.config.setting import ConfigError
from trio_kafka.security.tls.settings import TlsSettings

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_OF_TLS_1_3: Final = re.compile(r"TLS_(AES|CHACHA20)_\w+")
_OPENSSL_NAME: Final = re.compile(
    r"(?:(?P<exchange>(?:EC)?DHE-(?:RSA|ECDSA|DSS))-)?"
    r"(?:(?P<kind>AES|CAMELLIA|ARIA)(?P<bits>\d+)-(?P<rest>.+)|CHACHA20-POLY1305)"
)
_STANDARD_NAME: Final = re.compile(r"TLS_(?P<exchange>\w+)_WITH_(?P<cipher>\w+)")


def restrict(context: ssl.SSLContext, settings: TlsSettings) -> None:
    """Set versions and cipher suites. Raises ConfigError."""
    for version in settings.enabled_protocols:
        if version not in _VERSIONS:
            served = ", ".join(_VERSIONS)
            raise ConfigError("ssl.enabled.protocols", f"{version} is not supported: want {served}")
    if settings.protocol not in ("TLS", *_VERSIONS):
        reason = f"{settings.protocol} is not supported: want TLSv1.3, TLSv1.2 or TLS"
        raise ConfigError("ssl.protocol", reason)
    chosen = set(settings.enabled_protocols or _VERSIONS)
    suites = settings.cipher_suites
    if suites:
        older = [suite for suite in suites if not _OF_TLS_1_3.fullmatch(suite)]
        if len(older) == len(suites):
            chosen.discard("TLSv1.3")
        if not older:
            chosen.discard("TLSv1.2")
        if not chosen:
            enabled = ", ".join(settings.enabled_protocols)
            reason = f"no suite is of the enabled protocols, {enabled}"
            raise ConfigError("ssl.cipher.suites", reason)
        _set_older(context, older)
    versions = sorted(_VERSIONS[version] for version in chosen)
    context.minimum_version, context.maximum_version = versions[0], versions[-1]


def _set_older(context: ssl.SSLContext, suites: list[str]) -> None:
    if not suites:
        return
    try:
        context.set_ciphers(":".join(map(openssl_name, suites)))
    except ssl.SSLError:
        reason = f"{', '.join(suites)}: OpenSSL knows none of them"
        raise ConfigError("ssl.cipher.suites", reason) from None


def openssl_name(suite: str) -> str:
    """Return OpenSSL's name of a suite of TLS 1.2; a name that is no standard name stays."""
    match = _STANDARD_NAME.fullmatch(suite)
    if match is None:
        return suite
    exchange = match["exchange"].replace("_", "-")
    cipher = re.sub(r"(AES|CAMELLIA|ARIA)_(\d+)", r"\1\2", match["cipher"])
    cipher = cipher.replace("_CBC_", "_").replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305")
    cipher = cipher.replace("CCM_8", "CCM8").replace("_", "-")
    return cipher if exchange == "RSA" else f"{exchange}-{cipher}"


@cache
def java_name(suite: str) -> str:
    """Return the standard name, which Java uses, of a suite of OpenSSL; the inverse of that above.

    A suite of TLS 1.3, and one that no broker offers, keeps its name.
    """
    match = _OPENSSL_NAME.fullmatch(suite)
    if match is None:
        return suite
    exchange = (match["exchange"] or "RSA").replace("-", "_")
    if match["kind"] is None:
        return f"TLS_{exchange}_WITH_CHACHA20_POLY1305_SHA256"
    rest = match["rest"].replace("CCM8", "CCM_8").replace("-", "_")
    mode = "" if rest.startswith(("GCM", "CCM")) else "CBC_"
    return f"TLS_{exchange}_WITH_{match['kind']}_{match['bits']}_{mode}{rest}"
