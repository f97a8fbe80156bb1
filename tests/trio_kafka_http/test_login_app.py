"""How people log in and out with a browser."""

from typing import Any
from urllib.parse import urlencode

import pytest
import trio
from trio.testing import MockClock

from tests.trio_kafka_http.kit import DispatcherSetup, dispatcher_of, image_of, start
from trio_kafka.testing.asgi import Answer, ask

NAME = "trio-kafka-80"
OWN = {"origin": "http://localhost"}
FORM = {"content-type": "application/x-www-form-urlencoded"}


async def whoami(scope: Any, receive: Any, send: Any) -> None:
    await start(send)
    extension = scope["extensions"]["trio_kafka"]
    body = f"{extension['principal']} {extension['has_session']} {dict(scope['headers'])}"
    await send({"type": "http.response.body", "body": body.encode()})


def setup_of(**settings: Any) -> DispatcherSetup:
    settings.setdefault("anonymous_changes", False)
    return dispatcher_of({"/who": whoami}, users={"ann": "secret"}, **settings)


async def log_in(
    setup: DispatcherSetup,
    password: str = "secret",
    next_path: str = "/who",
    user: str = "ann",
    **headers: str,
) -> Answer:
    form = urlencode({"user": user, "password": password, "next": next_path}).encode()
    return await ask(setup, "POST", "/login", headers={**OWN, **FORM, **headers}, body=form)


def cookie_of(answer: Answer) -> dict[str, str]:
    return {"cookie": answer.headers["set-cookie"].partition(";")[0]}


async def test_login_leads_on_with_a_session_that_is_a_principal(
    autojump_clock: MockClock,
) -> None:
    setup = setup_of()

    page = await ask(setup, "GET", "/login?next=/who%3Fa")
    answer = await log_in(setup)
    who = await ask(setup, "GET", "/who", headers=cookie_of(answer))

    assert (page.status, b'name="next" value="/who?a"' in page.body) == (200, True)
    assert (answer.status, answer.headers["location"]) == (303, "/who")
    assert answer.headers["cache-control"] == "no-store"
    assert who.body.startswith(b"User:ann True")
    assert NAME.encode() not in who.body


async def test_wrong_password_and_unknown_user_get_the_same_page(
    autojump_clock: MockClock,
) -> None:
    setup = setup_of()

    wrong, unknown = await log_in(setup, "wrong"), await log_in(setup, "wrong", user="eve")

    assert (wrong.status, unknown.status) == (401, 401)
    assert wrong.body == unknown.body
    assert b"The user or the password is wrong." in wrong.body
    assert "set-cookie" not in wrong.headers
    assert "www-authenticate" not in wrong.headers


async def test_logout_ends_the_session_and_takes_the_cookie_away(
    autojump_clock: MockClock,
) -> None:
    setup = setup_of()
    cookie = cookie_of(await log_in(setup))

    answer = await ask(setup, "POST", "/logout", headers={**OWN, **cookie})

    assert (answer.status, answer.headers["location"]) == (303, "/login")
    assert "Max-Age=0" in answer.headers["set-cookie"]
    after = await ask(setup, "GET", "/who", headers=cookie)
    assert after.body.startswith(b"User:ANONYMOUS False")
    assert NAME.encode() not in after.body


async def test_each_login_makes_a_new_session_and_ends_the_one_that_was_sent(
    autojump_clock: MockClock,
) -> None:
    setup = setup_of()
    planted = {"cookie": f"{NAME}={'ab' * 32}"}

    first = cookie_of(await log_in(setup, **planted))
    second = cookie_of(await log_in(setup, **first))

    assert len({planted["cookie"], first["cookie"], second["cookie"]}) == 3
    for old in (planted, first):
        answer = await ask(setup, "GET", "/who", headers=old)
        assert answer.body.startswith(b"User:ANONYMOUS")


async def test_session_ends_when_the_password_of_its_user_changes(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = setup_of()
    cookie = cookie_of(await log_in(setup))
    changed = image_of({"ann": "changed"})
    monkeypatch.setattr(setup.access.logins.accounts, "_image", lambda: changed)

    answer = await ask(setup, "GET", "/who", headers=cookie)

    assert answer.body.startswith(b"User:ANONYMOUS")


async def test_unused_session_ends_after_its_idle_time(autojump_clock: MockClock) -> None:
    setup = setup_of(session_idle_ms=5000)
    cookie = cookie_of(await log_in(setup))

    await trio.sleep(4)
    assert (await ask(setup, "GET", "/who", headers=cookie)).body.startswith(b"User:ann")
    await trio.sleep(5)

    assert (await ask(setup, "GET", "/who", headers=cookie)).body.startswith(b"User:ANONYMOUS")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:81"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
    ],
)
async def test_page_of_another_origin_cannot_log_in_or_out_or_use_a_session(
    autojump_clock: MockClock, headers: dict[str, str]
) -> None:
    setup = setup_of()
    cookie = cookie_of(await log_in(setup))
    form = b"user=ann&password=secret"

    statuses = [
        (await ask(setup, "POST", "/login", headers={**FORM, **headers}, body=form)).status,
        (await ask(setup, "POST", "/logout", headers={**cookie, **headers})).status,
        (await ask(setup, "POST", "/who", headers={**cookie, **headers})).status,
    ]

    assert statuses == [403, 403, 403]
    assert (await ask(setup, "GET", "/who", headers=cookie)).body.startswith(b"User:ann")
    own = {**cookie, "sec-fetch-site": "same-origin"}
    assert (await ask(setup, "POST", "/who", headers=own)).status == 200


@pytest.mark.parametrize(
    "next_path", ["//evil.example", "https://evil.example", "/\r\nx: y", "\\/e"]
)
async def test_login_leads_to_this_server_only(autojump_clock: MockClock, next_path: str) -> None:
    answer = await log_in(setup_of(), next_path=next_path)

    assert (answer.status, answer.headers["location"]) == (303, "/")


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"content-type": "application/json"}, b"{}", 415),
        ({}, b"user=ann&password=secret", 415),
        (FORM, b"user=" + b"x" * 9000, 413),
        (FORM, b"user=%ff", 400),
        (FORM, b"user=\xff", 400),
        (FORM, b"&".join([b"a=b"] * 50), 400),
        (FORM, b"", 401),
    ],
)
async def test_form_that_cannot_be_read_is_refused(
    autojump_clock: MockClock, headers: dict[str, str], body: bytes, status: int
) -> None:
    answer = await ask(setup_of(), "POST", "/login", headers={**OWN, **headers}, body=body)

    assert answer.status == status


async def test_paths_allow_their_methods_only() -> None:
    assert (await ask(setup_of(), "PUT", "/login", headers=OWN)).status == 405
    assert (await ask(setup_of(), "GET", "/logout", headers=OWN)).headers["allow"] == "POST"


async def test_page_says_that_there_were_too_many_failures(autojump_clock: MockClock) -> None:
    setup = setup_of()

    for _ in range(10):
        await log_in(setup, "wrong")
    answer = await log_in(setup)

    assert (answer.status, b"too many failed logins" in answer.body) == (429, True)
    assert int(answer.headers["retry-after"]) <= 6


async def test_person_without_the_permission_gets_a_page_that_says_so(
    autojump_clock: MockClock,
) -> None:
    class Nothing:
        def authorize(self, *_: object) -> bool:
            return False

        authorize_any = authorize

    setup = setup_of(authorizer=Nothing())
    cookie = cookie_of(await log_in(setup))

    answer = await ask(setup, "GET", "/who", headers={**cookie, "accept": "text/html"})

    assert answer.status == 403
    assert b"User:ann has no permission DESCRIBE" in answer.body
    assert b'href="/login?next=/who"' in answer.body


async def test_token_can_be_entered_as_the_password(autojump_clock: MockClock) -> None:
    setup = setup_of(token="t0ken", principal="User:web")

    answer = await log_in(setup, "t0ken", user="")

    assert (await ask(setup, "GET", "/who", headers=cookie_of(answer))).body.startswith(b"User:web")
