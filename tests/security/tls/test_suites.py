import ssl

import pytest

from trio_kafka.config.setting import ConfigError
from trio_kafka.security.tls.settings import TlsSettings
from trio_kafka.security.tls.suites import java_name, openssl_name, restrict


def versions(**settings: object) -> tuple[ssl.TLSVersion, ssl.TLSVersion]:
    """Lowest and highest version."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    restrict(context, TlsSettings(**settings))
    return context.minimum_version, context.maximum_version


def test_protocols_and_suites_limit_the_versions() -> None:
    two, three = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
    old, new = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"

    assert versions() == (two, three)
    assert versions(enabled_protocols=("TLSv1.3",)) == (three, three)
    assert versions(cipher_suites=(old,)) == (two, two)
    assert versions(cipher_suites=(new,)) == (three, three)
    assert versions(cipher_suites=(old, new)) == (two, three)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"enabled_protocols": ("TLSv1",)}, "TLSv1 is not supported: want TLSv1.2, TLSv1.3"),
        ({"protocol": "SSLv3"}, "ssl.protocol: SSLv3 is not supported"),
        ({"cipher_suites": ("TLS_NO_SUCH",)}, "TLS_NO_SUCH: OpenSSL knows none of them"),
        (
            {"cipher_suites": ("TLS_AES_128_GCM_SHA256",), "enabled_protocols": ("TLSv1.2",)},
            "no suite is of the enabled protocols, TLSv1.2",
        ),
    ],
)
def test_what_openssl_cannot_do_is_refused(settings: dict[str, object], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        versions(**settings)


def test_standard_cipher_suite_names_are_translated_to_names_of_openssl() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for suite, name in {
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
        "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256": "ECDHE-ECDSA-AES128-SHA256",
        "TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "DHE-RSA-CHACHA20-POLY1305",
        "TLS_RSA_WITH_AES_128_GCM_SHA256": "AES128-GCM-SHA256",
        "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
        "ECDHE-RSA-AES256-GCM-SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    }.items():
        assert openssl_name(suite) == name
        context.set_ciphers(name)


def test_suites_of_openssl_are_translated_to_the_names_that_java_has_for_them() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_ciphers("ALL:@SECLEVEL=0")
    names = [str(suite["name"]) for suite in context.get_ciphers()]

    assert len(names) > 30
    assert [name for name in names if openssl_name(java_name(name)) != name] == []
    for name, suite in {
        "ECDHE-RSA-AES256-GCM-SHA384": "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        "ECDHE-ECDSA-CHACHA20-POLY1305": "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        "ECDHE-ECDSA-AES128-SHA256": "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
        "DHE-RSA-AES256-CCM8": "TLS_DHE_RSA_WITH_AES_256_CCM_8",
        "AES128-GCM-SHA256": "TLS_RSA_WITH_AES_128_GCM_SHA256",
        "TLS_AES_256_GCM_SHA384": "TLS_AES_256_GCM_SHA384",
        "PSK-AES128-CBC-SHA": "PSK-AES128-CBC-SHA",
    }.items():
        assert java_name(name) == suite
