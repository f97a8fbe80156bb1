"""Login of a client by a token, from its login line and settings."""

import pytest

from trio_kafka.config import oauth_login as names
from trio_kafka.config.jaas import Login
from trio_kafka.config.oauth_login import OauthLoginSettings
from trio_kafka.config.setting import ConfigError, declared_settings
from trio_kafka.security.tokens.login import TokenLogin, token_login
from trio_kafka.security.tokens.sources import (
    GivenToken,
    TokenEndpoint,
    TokenFile,
    UnsecuredClaims,
)

TABLE = declared_settings(OauthLoginSettings)
URL = "https://issuer.example/token"
CLIENT = {"clientId": "me", "clientSecret": "s3cret"}


def login(options: dict[str, str] | None = None, **settings: object) -> TokenLogin:
    """settings: by the names of constants of `oauth_login`."""
    values = {getattr(names, name): value for name, value in settings.items()}
    line = Login("OAuthBearerLoginModule", options or {})
    return token_login(line, lambda name: values.get(name, TABLE[name].default))


def test_endpoint_gets_the_credentials_of_the_login_line():
    source = login({**CLIENT, "scope": " read "}, URL=URL).source

    assert source == TokenEndpoint(
        url=URL, client_id="me", client_secret="s3cret", scope="read", urlencode=False
    )
    assert isinstance(source, TokenEndpoint)
    assert "s3cret" not in f"{source!r}"
    assert (source.connect_s, source.read_s) == (10.0, 10.0)


def test_settings_go_before_options_of_the_login_line():
    source = login(
        {**CLIENT, "scope": "read"},
        URL=URL,
        CLIENT_ID="you",
        CLIENT_SECRET="other",
        SCOPE="write",
        URLENCODE=True,
        CONNECT=500,
        READ=0,
    ).source

    assert source == TokenEndpoint(
        url=URL,
        client_id="you",
        client_secret="other",
        scope="write",
        urlencode=True,
        connect_s=0.5,
        read_s=10.0,
    )


def test_file_and_the_token_itself_are_sources_too():
    assert login(URL="file:///run/my%20token").source == TokenFile("/run/my token")
    assert login({"token": "t.o.k"}).source == GivenToken("t.o.k")
    assert "t.o.k" not in f"{login({'token': 't.o.k'})!r}"


def test_unsecured_tokens_are_made_only_for_a_line_with_their_claims():
    line = {"unsecuredLoginStringClaim_sub": "ann", "unsecuredLoginScopeClaimName": "roles"}

    result = login(line, HANDLER=names.UNSECURED)

    assert result.source == login(line).source == UnsecuredClaims(line)
    assert (result.subject, result.scope) == ("sub", "roles")
    with pytest.raises(ConfigError, match=r"names no token: set sasl\.oauthbearer\.token\.endp"):
        login()
    with pytest.raises(ConfigError, match="names no principal"):
        login({"unsecuredLoginLifetimeSeconds": "5"})


def test_a_class_of_unsecured_tokens_goes_before_a_url():
    line = {"unsecuredLoginStringClaim_sub": "ann"}

    assert isinstance(login(line, HANDLER=names.UNSECURED, URL=URL).source, UnsecuredClaims)


def test_extensions_have_the_prefix_of_their_source():
    fetched = login({**CLIENT, "extension_traceId": "7"}, URL=URL)
    unsecured = login(
        {"unsecuredLoginStringClaim_sub": "ann", "unsecuredLoginExtension_traceId": "8"}
    )

    assert (fetched.extensions, unsecured.extensions) == ({"traceId": "7"}, {"traceId": "8"})


def test_tls_towards_an_endpoint_is_that_of_the_login_line():
    source = login({**CLIENT, "ssl.truststore.location": "/ca.pem"}, URL=URL).source

    assert isinstance(source, TokenEndpoint)
    assert source.tls.truststore_location == "/ca.pem"
    assert source.tls.endpoint_identification_algorithm == "https"


@pytest.mark.parametrize(
    ("options", "settings", "reason"),
    [
        ({}, {"URL": URL}, r"client\.credentials\.client\.id: is not set, nor is clientId="),
        ({"clientId": "me"}, {"URL": URL}, r"client\.secret: is not set, nor is clientSecret="),
        ({**CLIENT, "clientSecret": " "}, {"URL": URL}, r"client\.secret: is not set"),
        ({}, {"HANDLER": names.HANDLERS[0]}, "OAuthBearerLoginCallbackHandler needs it"),
        ({**CLIENT, "extension_auth": "x"}, {"URL": URL}, "extension_auth: an extension is named"),
        ({**CLIENT, "extension_a1": "x"}, {"URL": URL}, "extension_a1: an extension is named"),
        ({**CLIENT, "extension_a": "s3cret\x01"}, {"URL": URL}, "extension_a: want one or more"),
        (
            {**CLIENT, "ssl.truststore.password": "s3cret"},
            {"URL": URL},
            r"sasl\.jaas\.config: ssl\.truststore\.location: is missing",
        ),
        ({**CLIENT}, {"URL": URL, "BACKOFF": -1}, r"retry\.backoff\.ms: -1 is too small"),
        ({**CLIENT}, {"URL": URL, "BACKOFF": 20_000}, r"max\.ms: is less than .*is 20000"),
        ({**CLIENT}, {"URL": URL, "READ": -1}, r"read\.timeout\.ms: -1 is too small"),
    ],
)
def test_login_that_cannot_get_a_token_is_refused_by_the_setting_without_secrets(
    options, settings, reason
):
    with pytest.raises(ConfigError, match=reason) as refused:
        login(options, **settings)

    assert "s3cret" not in str(refused.value)


def test_only_tokens_that_are_made_here_may_lack_a_signature():
    unsecured = login({"unsecuredLoginStringClaim_sub": "ann"})
    text = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4iLCJleHAiOjEwfQ."

    assert unsecured.read(text).subject == "ann"
    with pytest.raises(Exception, match="want header, payload and signature"):
        login(URL="file:///token").read(text)
