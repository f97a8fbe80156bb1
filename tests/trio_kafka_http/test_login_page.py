"""The pages of the plane: escaping, and where they lead."""

import pytest

from trio_kafka_http.login_page import (
    PAGE_HEADERS,
    login_address,
    login_page,
    next_of,
    read_form,
    refusal_page,
    safe_next,
)

HOSTILE = '"><script>alert(1)</script>'


@pytest.mark.parametrize(
    "path",
    [
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "https://evil.example",
        "javascript:alert(1)",
        "/\t/evil.example",
        "/\n/evil.example",
        "/x\r\nset-cookie: a=b",
        " //evil.example",
        "evil",
        "",
        "/" + "x" * 3000,
        "/\u202e",
    ],
)
def test_path_that_could_lead_to_another_server_becomes_the_root(path: str) -> None:
    assert safe_next(path) == "/"
    assert login_address(path) == "/login?next=/"


@pytest.mark.parametrize("path", ["/", "/admin", "/admin/topics?of=a%20b&limit=3"])
def test_path_of_this_server_is_kept(path: str) -> None:
    assert safe_next(path) == path
    assert next_of(login_address(path).partition("?")[2].encode()) == path


@pytest.mark.parametrize(
    "query", [b"", b"next", b"next=%ff%fe", b"a&" * 50, "next=/\u00e9".encode()]
)
def test_query_that_cannot_be_read_leads_to_the_root(query: bytes) -> None:
    assert next_of(query) == "/"


def test_pages_escape_what_a_request_says() -> None:
    for page in (login_page(HOSTILE, HOSTILE), refusal_page(HOSTILE, "/" + HOSTILE)):
        assert b"<script" not in page
    assert b"&lt;script&gt;" in login_page("/", HOSTILE)


def test_pages_run_no_script_and_cannot_be_framed() -> None:
    headers = dict(PAGE_HEADERS)

    policy = headers[b"content-security-policy"]
    assert policy.startswith(b"default-src 'none'; form-action 'self'")
    assert b"frame-ancestors 'none'" in policy
    assert b"unsafe" not in policy
    assert headers[b"referrer-policy"] == b"same-origin"


def test_form_is_read_as_a_browser_sends_it() -> None:
    assert read_form(b"user=a+b&password=%C3%A9%26&next=") == {
        "user": "a b",
        "password": "\u00e9&",
        "next": "",
    }
    for bad in (b"user=%ff", "user=\u00e9".encode(), b"a&" * 50):
        with pytest.raises(ValueError, match=r"."):
            read_form(bad)
