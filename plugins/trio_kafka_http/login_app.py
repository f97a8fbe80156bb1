"""The paths `/login` and `/logout`."""

from collections.abc import Mapping
from typing import Final

from trio_kafka_http.access import Access, address_of
from trio_kafka_http.admission import READ, RefusedError, says_its_page
from trio_kafka_http.cookies import session_of, set_cookie
from trio_kafka_http.login_page import (
    LOGIN,
    LOGOUT,
    PAGE_HEADERS,
    login_page,
    next_of,
    read_form,
    safe_next,
)
from trio_kafka_http.request_cycle import Message, RequestCycle

PATHS: Final = frozenset({LOGIN, LOGOUT})
_MOST_BODY: Final = 8 * 1024
_FORM: Final = b"application/x-www-form-urlencoded"
_WRONG: Final = "The user or the password is wrong."


async def answer_login(
    scope: Message, headers: Mapping[bytes, bytes], cycle: RequestCycle, access: Access
) -> None:
    """Answer a request to one of `PATHS`. Raises RefusedError."""
    is_read = scope["method"] in READ
    if scope["path"] == LOGIN and is_read:
        await cycle.answer_page(200, login_page(next_of(scope["query_string"])), PAGE_HEADERS)
        return
    if scope["method"] != "POST":
        allowed = b"POST" if scope["path"] == LOGOUT else b"GET, HEAD, POST"
        raise RefusedError(405, "only " + allowed.decode(), ((b"allow", allowed),))
    if not says_its_page(headers):
        raise RefusedError(403, "Origin or Sec-Fetch-Site is needed; scripts use HTTP Basic")
    access.sessions.end(session_of(scope))  # also before a login: its id is not used again
    if scope["path"] == LOGOUT:
        await _lead_on(cycle, LOGIN, set_cookie(scope, ""))
    else:
        await _log_in(scope, headers, cycle, access)


async def _log_in(
    scope: Message, headers: Mapping[bytes, bytes], cycle: RequestCycle, access: Access
) -> None:
    form = await _form_of(headers, cycle)
    next_path = safe_next(form.get("next", "/"))
    user, password = (form.get(name, "").encode() for name in ("user", "password"))
    try:
        account = await access.logins.by_password(user, password, address_of(scope), way="page")
    except RefusedError as refused:
        page = login_page(next_path, refused.message)
        await cycle.answer_page(refused.status, page, (*PAGE_HEADERS, *refused.headers))
        return
    if account is None:
        await cycle.answer_page(401, login_page(next_path, _WRONG), PAGE_HEADERS)
        return
    await _lead_on(cycle, next_path, set_cookie(scope, access.sessions.begin(account)))


async def _form_of(headers: Mapping[bytes, bytes], cycle: RequestCycle) -> dict[str, str]:
    """Read the form. Raises RefusedError."""
    if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != _FORM:
        raise RefusedError(415, f"want {_FORM.decode()}")
    body, more = b"", True
    while more:
        message = await cycle.receive()
        if message["type"] == "http.disconnect":
            raise RefusedError(400, "the client has left")
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > _MOST_BODY:
            raise RefusedError(413, f"the form is larger than {_MOST_BODY}")
    try:
        return read_form(body)
    except ValueError:
        raise RefusedError(400, "the form cannot be read") from None


async def _lead_on(cycle: RequestCycle, path: str, cookie: tuple[bytes, bytes]) -> None:
    await cycle.answer(303, {"location": path}, ((b"location", path.encode()), cookie))
