"""Settings of a client's tokens."""

import pytest

from trio_kafka.config.oauth_login import HANDLER, URL, OauthLoginSettings
from trio_kafka.config.setting import ConfigError, declared_settings

TABLE = declared_settings(OauthLoginSettings)
PACKAGE = "org.apache.kafka.common.security.oauthbearer"


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://issuer.example/token", "want a URL of https, http or file"),
        ("host/token", "want a URL of https"),
        ("https:///token", "names no host"),
        ("https:" + "//ann:s3cret@issuer.example/token", "has no user and password"),
        ("file://issuer.example/token", "a file is of this machine"),
        ("file:", "names no file"),
        ("https://issuer.example/a b", "has no blanks"),
        ("https://issuer.example:99999/", "Port out of range"),
        ("https://[::1/token", "Invalid IPv6 URL"),
    ],
)
def test_url_that_no_token_can_come_from_is_refused_without_its_password(url, reason):
    with pytest.raises(ConfigError, match=rf"^{URL}: .*{reason}") as refused:
        TABLE[URL].parse(url)

    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["https://issuer.example:8/token", "HTTP://issuer.example", "file:///run/my%20token"]
)
def test_urls_of_https_http_and_files_are_taken(url):
    assert TABLE[URL].parse(url) == url


@pytest.mark.parametrize(
    "name",
    [HANDLER, "sasl.oauthbearer.jwt.retriever.class", "sasl.oauthbearer.jwt.validator.class"],
)
def test_java_class_that_is_not_kafkas_own_is_refused_by_name(name):
    with pytest.raises(ConfigError, match=r"'com\.example\.Login' is a Java class, which cannot"):
        TABLE[name].parse("com.example.Login")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (HANDLER, f"{PACKAGE}.OAuthBearerLoginCallbackHandler"),
        (HANDLER, f"{PACKAGE}.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler"),
        ("sasl.oauthbearer.jwt.retriever.class", f"{PACKAGE}.FileJwtRetriever"),
        ("sasl.oauthbearer.jwt.validator.class", f"{PACKAGE}.ClientJwtValidator"),
    ],
)
def test_kafkas_own_classes_are_taken(name, value):
    assert TABLE[name].parse(value) == value
