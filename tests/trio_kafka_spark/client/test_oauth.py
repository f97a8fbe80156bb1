import base64
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.trio_kafka_spark.client.certificates import authority, issued
from trio_kafka.config.jaas import Login
from trio_kafka_spark.client.errors import AuthenticationError, OptionError
from trio_kafka_spark.client.oauth import bearer_token, unsecured_token
from trio_kafka_spark.client.secret import Secret
from trio_kafka_spark.client.security import Sasl


def login(**options: str) -> Login:
    return Login("OAuthBearerLoginModule", options)


def parts(token: str) -> list[dict[str, object]]:
    header, claims, signature = token.split(".")
    assert signature == ""
    return [json.loads(base64.urlsafe_b64decode(one + "==")) for one in (header, claims)]


@contextmanager
def endpoint(
    body: bytes = b'{"access_token":"t.o.k"}', status: int = 200, tls: ssl.SSLContext | None = None
) -> Iterator[tuple[str, list[tuple[str | None, bytes]]]]:
    """A token endpoint: its address, and what it was asked: credentials and form."""
    asked: list[tuple[str | None, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["Content-Length"])
            asked.append((self.headers["Authorization"], self.rfile.read(size)))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            """Print nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}/token", asked
        finally:
            server.shutdown()
            thread.join()


def test_an_unsecured_token_has_the_claims_of_the_jaas_options() -> None:
    options = {
        "unsecuredLoginStringClaim_sub": "alice",
        "unsecuredLoginNumberClaim_level": "2.5",
        "unsecuredLoginListClaim_scope": "|a|b",
        "unsecuredLoginLifetimeSeconds": "10",
    }

    header, claims = parts(unsecured_token(options, 1000.0))

    assert header == {"alg": "none"}
    assert claims == {
        "sub": "alice",
        "level": 2.5,
        "scope": ["a", "b"],
        "iat": 1000.0,
        "exp": 1010.0,
    }


def test_the_principal_claim_of_an_unsecured_token_is_configurable_and_required() -> None:
    options = {"unsecuredLoginPrincipalClaimName": "me", "unsecuredLoginStringClaim_me": "x"}

    assert parts(unsecured_token(options, 0.0))[1]["me"] == "x"
    with pytest.raises(OptionError, match="names no principal: want unsecuredLoginStringClaim_sub"):
        unsecured_token({}, 0.0)
    with pytest.raises(OptionError, match="LifetimeSeconds is no number"):
        unsecured_token({**options, "unsecuredLoginLifetimeSeconds": "s3cret"}, 0.0)


def test_extensions_are_returned_with_the_token() -> None:
    unsecured = login(unsecuredLoginStringClaim_sub="a", unsecuredLoginExtension_traceId="7")
    given = login(token="t.o.k")

    assert bearer_token(Sasl(), unsecured)[1] == {"traceId": "7"}
    assert bearer_token(Sasl(), given) == ("t.o.k", {})


def test_the_token_is_read_from_a_file_url(tmp_path: Path) -> None:
    path = tmp_path / "my token"
    path.write_text("t.o.k\n")

    assert bearer_token(Sasl(token_url=path.as_uri()), login())[0] == "t.o.k"
    with pytest.raises(OptionError, match="No such file"):
        bearer_token(Sasl(token_url=f"{path.as_uri()}.no"), login())
    with pytest.raises(OptionError, match="ftp: want https:"):
        bearer_token(Sasl(token_url="ftp://host"), login())


def test_a_token_request_has_the_client_credentials_and_the_scope() -> None:
    with endpoint() as (url, asked):
        found = bearer_token(
            Sasl(token_url=url),
            login(clientId="m/e", clientSecret="s 3", scope="a", extension_x="y"),
        )
        bearer_token(
            Sasl(
                token_url=url,
                client_id_oauth="m/e",
                client_secret=Secret("o", "s 3"),
                scope="b",
                urlencode_header=True,
            ),
            login(),
        )

    assert found == ("t.o.k", {"x": "y"})
    decoded = [
        (base64.b64decode((header or "").removeprefix("Basic ")), form) for header, form in asked
    ]
    assert decoded == [
        (b"m/e:s 3", b"grant_type=client_credentials&scope=a"),
        (b"m%2Fe:s+3", b"grant_type=client_credentials&scope=b"),
    ]


def test_the_certificate_of_a_token_endpoint_is_checked_with_the_jaas_options(
    tmp_path: Path,
) -> None:
    ca = authority()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(issued(ca, "endpoint").write_pem(tmp_path / "endpoint.pem"))
    options = {"clientId": "me", "clientSecret": "s3cret"}
    with endpoint(tls=context) as (url, _):
        token, _ = bearer_token(
            Sasl(token_url=url), login(**options, **{"ssl.truststore.certificates": ca.pem})
        )
        with pytest.raises(OSError, match="certificate verify failed") as caught:
            bearer_token(Sasl(token_url=url), login(**options))

    assert token == "t.o.k"
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"", 401, "answered 401 .*check the client id"),
        (b"no json", 200, "has no access_token"),
        (b"[]", 200, "has no access_token"),
        (b'{"access_token":7}', 200, "has no access_token"),
        (b'{"access_token":"a\\u0001b"}', 200, "has no access_token"),
    ],
)
def test_a_token_endpoint_without_a_token_is_an_error_that_hides_the_secret(
    body: bytes, status: int, message: str
) -> None:
    with (
        endpoint(body, status) as (url, _),
        pytest.raises(AuthenticationError, match=message) as caught,
    ):
        bearer_token(Sasl(token_url=url), login(clientId="me", clientSecret="s3cret"))

    assert "s3cret" not in str(caught.value)


def test_an_error_names_a_malformed_tls_option_of_the_jaas_line() -> None:
    options = {"clientId": "a", "clientSecret": "s3cret", "ssl.enabled.protocols": "SSLv3"}
    with pytest.raises(OptionError, match=r"ssl\.enabled\.protocols: 'SSLv3': want TLSv1\.2"):
        bearer_token(Sasl(token_url="https://127.0.0.1/"), login(**options))


def test_an_error_names_missing_oauth_client_credentials() -> None:
    with pytest.raises(OptionError, match=r"clientId=.* and clientSecret="):
        bearer_token(Sasl(token_url="https://127.0.0.1/"), login(clientId="me"))
