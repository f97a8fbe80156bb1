"""Checks that need no identity: pages of others, and what a browser says about itself."""

from typing import Any

import pytest

from trio_kafka_http.admission import RefusedError, check_request, is_navigation, says_its_page
from trio_kafka_http.host_check import Names

NAVIGATES = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


def parts_of(method: str, headers: dict[str, str]) -> tuple[Any, dict[bytes, bytes]]:
    encoded = {name.encode(): value.encode() for name, value in headers.items()}
    scope = {
        "http_version": "1.1",
        "method": method,
        "raw_path": b"/",
        "query_string": b"",
        "headers": list(encoded.items()),
    }
    return scope, encoded


def status_of(method: str, *, scheme: str = "http", **headers: str) -> int:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    scope, encoded = parts_of(method, {"host": "localhost", **named})
    scope["scheme"] = scheme
    try:
        check_request(scope, encoded, local="127.0.0.1", names=Names(frozenset()), most=1000)
    except RefusedError as error:
        return error.status
    return 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", "unheard-of", ""])
def test_page_of_another_origin_may_lead_here_by_a_link_and_nothing_else(site: str) -> None:
    link = {"sec_fetch_site": site, "sec_fetch_mode": "navigate"}

    assert status_of("GET", sec_fetch_dest="document", **link) == 200
    assert status_of("POST", sec_fetch_dest="document", **link) == 403
    for frame in ("iframe", "frame", "object", "embed", "fencedframe"):
        assert status_of("GET", sec_fetch_dest=frame, **link) == 403
    for method in ("GET", "HEAD", "POST", "DELETE"):
        assert status_of(method, sec_fetch_site=site, sec_fetch_mode="no-cors") == 403
        assert status_of(method, sec_fetch_site=site) == 403


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_own_pages_entered_addresses_and_scripts_pass(method: str) -> None:
    assert status_of(method, sec_fetch_site="same-origin", sec_fetch_mode="cors") == 200
    assert status_of(method, sec_fetch_site="none", sec_fetch_mode="navigate") == 200
    assert status_of(method) == 200
    assert status_of(method, origin="http://localhost") == 200


def test_checks_come_before_every_other_answer() -> None:
    assert status_of("GET", host="rebound.example") == 421
    assert status_of("GET", host="") == 421
    assert status_of("POST", origin="null") == 403
    assert status_of("GET", transfer_encoding="chunked", content_length="3") == 400
    assert status_of("GET", x="y" * 1000) == 431


@pytest.mark.parametrize(
    ("method", "headers", "expected"),
    [
        ("GET", NAVIGATES, True),
        ("HEAD", NAVIGATES, True),
        ("POST", NAVIGATES, False),
        ("GET", {"sec-fetch-mode": "cors", "accept": "text/html"}, False),
        ("GET", {"accept": "text/html,*/*"}, True),
        ("GET", {"accept": "*/*"}, False),
        ("GET", {}, False),
    ],
)
def test_navigation_is_known_by_what_the_browser_says(
    method: str, headers: dict[str, str], expected: bool
) -> None:
    assert is_navigation(*parts_of(method, headers)) is expected


def test_request_says_its_page_by_either_header() -> None:
    assert says_its_page({b"origin": b"http://localhost"})
    assert says_its_page({b"sec-fetch-site": b"same-origin"})
    assert not says_its_page({b"host": b"localhost"})


def test_forged_page_of_the_same_name_without_tls_cannot_ask_over_tls() -> None:
    assert status_of("POST", scheme="https", origin="http://localhost") == 403
    assert status_of("POST", scheme="https", origin="https://localhost") == 200
    assert status_of("POST", scheme="http", origin="https://localhost") == 200  # behind a proxy
