"""The dispatcher without a socket, as the ASGI app that it is."""

import json
from base64 import b64encode
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.trio_kafka_http.kit import Caller, broken, dispatcher_of, echo, hello, slow, start
from trio_kafka.plugin_host.mounts import Mount
from trio_kafka.security.principal import NOBODY, Principal
from trio_kafka.testing.asgi import IncompleteAnswerError, ask

APPS = {"/hello": hello, "/echo": echo, "/broken": broken, "/slow": slow, "/hello/inner": echo}


async def test_request_is_served_by_the_app_with_the_longest_matching_path() -> None:
    dispatcher = dispatcher_of(APPS)

    assert (await ask(dispatcher, "GET", "/hello")).body == b"GET /hello /hello"
    assert (await ask(dispatcher, "GET", "/hello/a%20b?c=d")).body == b"GET /hello /hello/a b"
    assert (await ask(dispatcher, "POST", "/hello/inner/x", body=b"yes")).body == b"yes"


@pytest.mark.parametrize("path", ["/hell", "/helloo", "/x/hello", "//hello"])
async def test_a_path_without_an_app_is_not_found(path: str) -> None:
    answer = await ask(dispatcher_of(APPS), "GET", path)

    assert answer.status == 404
    assert answer.headers["content-type"] == "application/json"
    document = answer.json()
    assert document["error_code"] == 404
    assert document["request_id"] == answer.headers["x-request-id"] == f"{1:016x}"


async def test_root_lists_the_mounted_paths() -> None:
    answer = await ask(dispatcher_of({"/hello": hello, "/echo": echo}), "GET", "/")

    assert answer.status == 200
    assert answer.json() == {"paths": ["/echo", "/healthz", "/hello", "/readyz"]}


async def test_root_redirects_to_the_admin_ui_at_its_path() -> None:
    setup = dispatcher_of({"/hello": hello})
    setup.mounts.swap((), [Mount("/ui", hello, "admin")])

    answer = await ask(setup, "GET", "/")

    assert (answer.status, answer.headers["location"]) == (307, "/ui")


async def test_root_allows_only_get_and_head() -> None:
    answer = await ask(dispatcher_of(APPS), "POST", "/")

    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")


async def test_root_requires_the_token() -> None:
    assert (await ask(dispatcher_of(APPS, token="t" * 20), "GET", "/")).status == 401


async def test_very_long_path_is_refused_with_414() -> None:
    answer = await ask(dispatcher_of(APPS), "GET", "/hello" + "/" * 3000)

    assert answer.status == 414


async def test_health_is_ok_while_the_process_is_alive() -> None:
    answer = await ask(dispatcher_of(unready=["starting"]), "GET", "/healthz")

    assert (answer.status, answer.json()) == (200, {"status": "alive"})


async def test_readiness_is_503_with_the_reasons_unless_the_broker_serves() -> None:
    ready = await ask(dispatcher_of(), "GET", "/readyz")
    unready = await ask(dispatcher_of(unready=["shutting down", "fenced"]), "GET", "/readyz")

    assert (ready.status, ready.json()) == (200, {"status": "ready"})
    assert unready.status == 503
    assert unready.json() == {"status": "not ready", "reasons": ["shutting down", "fenced"]}
    assert unready.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_health_and_readiness_allow_only_get_and_head(path: str) -> None:
    answer = await ask(dispatcher_of(), "POST", path)

    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")
    assert (await ask(dispatcher_of(), "HEAD", path)).status == 200


def basic(user: str, password: str) -> str:
    return f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"


async def test_request_without_a_valid_token_is_refused_with_401() -> None:
    dispatcher = dispatcher_of(APPS, token="s3cret")

    for headers in (
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": "Basic s3cret"},
        {"authorization": "Basic !"},
        {"authorization": basic("s3cret", "wrong")},
        {"authorization": basic("", "")},
        {"authorization": "Digest s3cret"},
    ):
        for path in ("/hello", "/nowhere"):
            answer = await ask(dispatcher, "GET", path, headers=headers)
            assert (answer.status, answer.json()["error_code"]) == (401, 401)
    for text in ("bearer s3cret", basic("any", "s3cret"), basic("", "s3cret")):
        right = {"authorization": text}
        assert (await ask(dispatcher, "GET", "/hello", headers=right)).status == 200

        assert (await ask(dispatcher, "GET", "/nowhere", headers=right)).status == 404


async def test_app_that_checks_tokens_gets_every_request_with_its_credentials() -> None:
    seen = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append((dict(scope["headers"]).get(b"authorization"), scope["extensions"]))
        await hello(scope, receive, send)

    dispatcher = dispatcher_of(APPS, checking={"/own": app}, token="s3cret")

    own = {"authorization": "Bearer own"}
    assert (await ask(dispatcher, "GET", "/own/x", headers=own)).status == 200

    assert (await ask(dispatcher, "GET", "/own")).status == 200

    assert [credentials for credentials, _ in seen] == [b"Bearer own", None]
    assert [row["trio_kafka"]["authorized"] for _, row in seen] == [False, False]
    foreign = {**own, "origin": "http://evil.example"}
    assert (await ask(dispatcher, "POST", "/own", headers=foreign)).status == 403

    assert (await ask(dispatcher, "GET", "/own" + "/x" * 2000)).status == 401

    assert (await ask(dispatcher, "GET", "/owner")).status == 401

    assert (await ask(dispatcher, "GET", "/hello", headers=own)).status == 401


async def test_response_401_offers_bearer_and_basic_authentication() -> None:
    response_headers: list[tuple[bytes, bytes]] = []
    dispatcher = dispatcher_of(APPS, token="s3cret")

    async def listened(scope: Any, receive: Any, send: Any) -> None:
        async def listen(message: Any) -> None:
            response_headers.extend(message.get("headers", ()))
            await send(message)

        await dispatcher(scope, receive, listen)

    await ask(listened, "GET", "/hello")

    assert [value for name, value in response_headers if name == b"www-authenticate"] == [
        b'Bearer realm="trio-kafka"',
        b'Basic realm="trio-kafka", charset="UTF-8"',
    ]


async def test_request_with_a_basic_token_from_another_origin_is_refused() -> None:
    dispatcher = dispatcher_of(APPS, token="s3cret")
    credentials = {"authorization": basic("any", "s3cret")}

    own = {**credentials, "origin": "http://localhost"}
    assert (await ask(dispatcher, "POST", "/echo", headers=own, body=b"x")).status == 200

    other = {**credentials, "origin": "http://evil.example"}
    assert (await ask(dispatcher, "POST", "/echo", headers=other, body=b"x")).status == 403


async def test_health_and_readiness_need_no_token() -> None:
    dispatcher = dispatcher_of(token="s3cret")

    assert (await ask(dispatcher, "GET", "/healthz")).status == 200

    assert (await ask(dispatcher, "GET", "/readyz")).status == 200


@pytest.mark.parametrize(
    ("authorization", "without_token"), [("Bearer s3cret", 200), ("Basic YW55OnMzY3JldA==", 401)]
)
async def test_token_of_the_plane_is_hidden_from_apps(
    authorization: str, without_token: int, autojump_clock: MockClock
) -> None:
    seen: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(dict(scope["headers"]).get(b"authorization"))
        await hello(scope, receive, send)

    headers = {"authorization": authorization}
    await ask(dispatcher_of({"/app": app}, token="s3cret"), "GET", "/app", headers=headers)
    other = await ask(dispatcher_of({"/app": app}), "GET", "/app", headers=headers)

    assert other.status == without_token
    assert seen == [None, *([authorization.encode()] if without_token == 200 else [])]


@pytest.mark.parametrize("token", ["s3cret", None])
async def test_apps_can_read_whether_a_token_was_required(token: str | None) -> None:
    seen: list[bool] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["extensions"]["trio_kafka"]["authorized"])
        await hello(scope, receive, send)

    headers = {"authorization": "Bearer s3cret"}
    await ask(dispatcher_of({"/a": app}, token=token), "GET", "/a", headers=headers)

    assert seen == [token is not None]


async def test_principal_of_the_token_is_passed_to_apps() -> None:
    seen: list[Principal] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["extensions"]["trio_kafka"]["principal"])
        await hello(scope, receive, send)

    headers = {"authorization": "Bearer s3cret"}
    named = {"token": "s3cret", "principal": "User:web"}
    await ask(dispatcher_of({"/a": app}, **named), "GET", "/a", headers=headers)
    await ask(dispatcher_of(APPS, checking={"/a": app}, **named), "GET", "/a", headers=headers)
    await ask(dispatcher_of({"/a": app}, principal="User:web"), "GET", "/a", headers=headers)

    assert seen == [Principal("User", "web"), NOBODY, NOBODY]


async def test_unknown_host_name_is_refused_with_421_even_for_health() -> None:
    dispatcher = dispatcher_of(APPS, hosts=("kafka.example",))

    for path in ("/hello", "/healthz"):
        rebound = await ask(dispatcher, "GET", path, headers={"host": "rebound.example"})
        assert rebound.status == 421
        assert (
            await ask(dispatcher, "GET", path, headers={"host": "Kafka.example:80"})
        ).status == 200


async def test_bound_host_is_accepted_as_host_name_of_the_plane() -> None:
    caller = Caller(local="10.0.0.7")
    dispatcher = dispatcher_of(listeners=("http://node.example:0",), token="t", caller=caller)

    assert (
        await ask(dispatcher, "GET", "/healthz", headers={"host": "node.example:80"})
    ).status == 200
    assert (await ask(dispatcher, "GET", "/healthz", headers={"host": "10.0.0.7"})).status == 200

    assert (await ask(dispatcher, "GET", "/healthz", headers={"host": "localhost"})).status == 421


async def test_requests_from_other_origins_are_refused() -> None:
    dispatcher = dispatcher_of(APPS)

    for origin, status in [
        ("http://localhost", 200),
        ("http://localhost:3000", 403),
        ("http://evil.example", 403),
        ("null", 403),
    ]:
        answer = await ask(dispatcher, "POST", "/echo", headers={"origin": origin}, body=b"x")
        assert answer.status == status
        assert not [name for name in answer.headers if name.startswith("access-control")]


async def test_only_http_1_is_served() -> None:
    assert (await ask(dispatcher_of(APPS), "GET", "/hello", http_version="2")).status == 505

    assert (await ask(dispatcher_of(APPS), "GET", "/hello", http_version="1.0")).status == 200


async def test_body_announced_as_too_large_is_refused_before_the_app() -> None:
    called = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        called.append(scope)

    dispatcher = dispatcher_of({"/app": app}, max_body_bytes=10)
    answer = await ask(dispatcher, "POST", "/app", headers={"content-length": "11"}, body=bytes(11))

    assert (answer.status, called) == (413, [])


async def test_body_that_grows_too_large_is_refused_and_ends_the_app(
    caplog: pytest.LogCaptureFixture,
) -> None:
    dispatcher = dispatcher_of(APPS, max_body_bytes=10)

    fits = await ask(dispatcher, "POST", "/echo", body=[bytes(4), bytes(6)])
    grows = await ask(dispatcher, "POST", "/echo", body=[bytes(4), bytes(7), bytes(1)])

    assert (fits.status, grows.status) == (200, 413)
    assert "an app failed" not in caplog.text


async def test_app_that_suppresses_the_body_limit_error_is_answered_with_413() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            await receive()
        except Exception:
            return

    answer = await ask(dispatcher_of({"/app": app}, max_body_bytes=3), "POST", "/app", body=b"four")

    assert answer.status == 413


# --- apps that fail


def raiser(error: BaseException) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise error

    return app


@pytest.mark.parametrize(
    "error",
    [
        ZeroDivisionError("secret"),
        SystemExit("secret"),
        KeyboardInterrupt("secret"),
        ExceptionGroup("secret", [ValueError("secret")]),
        BaseExceptionGroup("secret", [SystemExit("secret"), ValueError("secret")]),
    ],
)
async def test_exception_of_an_app_gives_500_with_an_id_and_a_log_line(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await ask(dispatcher_of({"/app": raiser(error)}), "GET", "/app/x?q=1")

    assert answer.status == 500
    assert "secret" not in json.dumps(answer.json())
    [record] = [entry for entry in caplog.records if entry.msg == "an app failed"]
    assert record.exc_info is not None
    assert record.fields["request"] == answer.headers["x-request-id"]
    assert (record.fields["mount"], record.fields["plugin"]) == ("/app", "test")


async def test_app_without_a_complete_response_gives_500() -> None:
    async def nothing(scope: Any, receive: Any, send: Any) -> None:
        pass

    async def head_alone(scope: Any, receive: Any, send: Any) -> None:
        await start(send)

    dispatcher = dispatcher_of({"/nothing": nothing, "/head": head_alone})

    assert (await ask(dispatcher, "GET", "/nothing")).status == 500

    assert (await ask(dispatcher, "GET", "/head")).status == 500


@pytest.mark.parametrize(
    "messages",
    [
        [{"type": "http.response.body", "body": b"no head"}],
        [{"type": "http.response.start", "status": 99}],
        [{"type": "http.response.start", "status": "200"}],
        [{"type": "http.response.start", "status": 200, "headers": [(b"a", b"b\r\nc: d")]}],
        [{"type": "http.response.start", "status": 200, "headers": [(b":path", b"/")]}],
        [{"type": "http.response.start", "status": 200}] * 2,
        [{"type": "http.response.push", "path": "/"}],
        [{}],
    ],
)
async def test_invalid_asgi_messages_of_an_app_give_500(messages: list[dict[str, Any]]) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        for message in messages:
            await send(message)

    assert (await ask(dispatcher_of({"/app": app}), "GET", "/app")).status == 500


async def test_app_that_fails_during_its_response_aborts_the_connection() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await start(send)
        await send({"type": "http.response.body", "body": b"some", "more_body": True})
        raise ZeroDivisionError

    dispatcher = dispatcher_of({"/app": app})

    with pytest.raises(IncompleteAnswerError):
        await ask(dispatcher, "GET", "/app")
    assert dispatcher.caller.aborted == 1


async def test_messages_after_the_end_of_a_response_are_not_sent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await hello(scope, receive, send)
        await send({"type": "http.response.body", "body": b"more"})

    dispatcher = dispatcher_of({"/app": app})
    answer = await ask(dispatcher, "GET", "/app")

    assert (answer.status, answer.body) == (200, b"GET /app /app")
    assert "an app failed" in caplog.text
    assert dispatcher.caller.aborted == 0


async def test_slow_app_is_answered_with_503_after_its_deadline(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    dispatcher = dispatcher_of(APPS, deadline_s=7.0)
    answer = await ask(dispatcher, "GET", "/slow")

    assert (answer.status, trio.current_time()) == (503, 7.0)
    assert "request deadline expired" in caplog.text
    assert dispatcher.caller.deadlines == [9.0]


async def test_response_declared_unlimited_may_exceed_the_deadline(
    autojump_clock: MockClock,
) -> None:
    async def ticks(scope: Any, receive: Any, send: Any) -> None:
        scope["extensions"]["trio_kafka"]["unlimited"]()
        await start(send)
        for _ in range(5):
            await trio.sleep(3)
            await send({"type": "http.response.body", "body": b".", "more_body": True})
        await send({"type": "http.response.body"})

    dispatcher = dispatcher_of({"/ticks": ticks}, deadline_s=7.0)
    answer = await ask(dispatcher, "GET", "/ticks")

    assert (answer.body, trio.current_time()) == (b".....", 15.0)
    assert dispatcher.caller.deadlines[-1] == float("inf")


async def test_request_id_of_the_app_is_that_of_the_clients_header() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await start(send, 200, (b"x-app", scope["extensions"]["trio_kafka"]["request_id"].encode()))
        await send({"type": "http.response.body"})

    answer = await ask(
        dispatcher_of({"/app": app}), "GET", "/app", headers={"x-request-id": "forged"}
    )

    assert answer.headers["x-app"] == answer.headers["x-request-id"] == f"{1:016x}"


async def test_cancellation_propagates_through_the_dispatcher(autojump_clock: MockClock) -> None:
    dispatcher = dispatcher_of(APPS)

    with trio.move_on_after(1) as scope:
        await ask(dispatcher, "GET", "/slow")

    assert scope.cancelled_caught
    assert dispatcher.statistics.in_flight == 0


async def test_app_that_fails_while_cancelled_is_logged(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        async def fail() -> None:
            try:
                await trio.sleep_forever()
            finally:
                raise ZeroDivisionError

        async with trio.open_nursery() as nursery:
            nursery.start_soon(fail)
            nursery.start_soon(trio.sleep_forever)

    with trio.move_on_after(1) as scope:
        await ask(dispatcher_of({"/app": app}), "GET", "/app")

    assert scope.cancelled_caught
    assert "an app failed" in caplog.text


async def test_missing_path_is_answered_with_the_failure_of_a_broker_that_ends(
    autojump_clock: MockClock,
) -> None:
    dispatcher = dispatcher_of({"/hello": hello}, failure="/data: it is lost", token="secret")
    right = {"authorization": "Bearer secret"}

    answer = await ask(dispatcher, "GET", "/admin", headers=right)
    assert answer.status == 503
    assert answer.json()["message"] == "the broker is stopping: /data: it is lost"  # type: ignore[index]
    assert (await ask(dispatcher, "GET", "/hello", headers=right)).status == 200
    refused = await ask(dispatcher, "GET", "/admin")
    assert refused.status == 401
    assert b"lost" not in refused.body
