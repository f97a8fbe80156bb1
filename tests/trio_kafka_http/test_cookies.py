"""The cookie of a session, as browsers get and send it."""

from typing import Any

import pytest

from trio_kafka_http.cookies import session_of, set_cookie, without_session

ID = "ab" * 32
NAME = "trio-kafka-9644"


def scope_of(*cookies: str, scheme: str = "http") -> Any:
    headers = [(b"cookie", cookie.encode()) for cookie in cookies]
    return {"headers": [(b"host", b"h"), *headers], "scheme": scheme, "server": ("h", 9644)}


def test_cookie_is_for_this_server_only_and_hidden_from_scripts() -> None:
    assert set_cookie(scope_of(), ID) == (
        b"set-cookie",
        f"{NAME}={ID}; Path=/; HttpOnly; SameSite=Strict".encode(),
    )


def test_cookie_over_tls_is_bound_to_the_host_and_to_tls() -> None:
    _, cookie = set_cookie(scope_of(scheme="https"), ID)

    assert cookie.startswith(b"__Host-" + NAME.encode())
    assert cookie.endswith(b"; Secure")
    assert session_of(scope_of(f"{NAME}={ID}", scheme="https")) == ""
    assert session_of(scope_of(f"__Host-{NAME}={ID}", scheme="https")) == ID


def test_cookie_of_an_ended_session_is_taken_away() -> None:
    assert b"=; Path=/" in set_cookie(scope_of(), "")[1]
    assert set_cookie(scope_of(), "")[1].endswith(b"; Max-Age=0")


@pytest.mark.parametrize(
    ("cookies", "session"),
    [
        ((f"{NAME}={ID}",), ID),
        ((f"a=b; {NAME}={ID};c",), ID),
        (("a=b", f"{NAME}={ID}"), ID),
        ((f"trio-kafka-9645={ID}",), ""),
        ((f"{NAME}={ID}; {NAME}={'cd' * 32}",), ""),
        ((f"{NAME}={ID}", f"{NAME}={ID}"), ""),
        ((f"{NAME}={ID}0",), ""),
        ((f"{NAME}={ID.upper()}",), ""),
        ((f'{NAME}="{ID}"',), ""),
        ((), ""),
    ],
)
def test_session_is_read_if_the_browser_sends_exactly_one(
    cookies: tuple[str, ...], session: str
) -> None:
    assert session_of(scope_of(*cookies)) == session


def test_apps_get_all_cookies_but_that_of_the_session() -> None:
    scope = scope_of("x=1", f"a=b; {NAME}={ID}; c=d", f"{NAME}={ID}")

    assert without_session(scope) == [
        (b"host", b"h"),
        (b"cookie", b"x=1"),
        (b"cookie", b"a=b; c=d"),
    ]
