"""Which requests need credentials, and what the authorizer is asked."""

from base64 import b64encode
from typing import Any

import pytest
from attrs import define, field
from trio.testing import MockClock

from tests.trio_kafka_http.kit import DispatcherSetup, dispatcher_of, hello
from trio_kafka.plugin_host.mounts import Mount
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import Principal
from trio_kafka.security.resources import THE_CLUSTER, Resource
from trio_kafka.testing.asgi import Answer, ask

ANN = f"Basic {b64encode(b'ann:secret').decode()}"
FAR = ("10.0.0.9", 5000)


@define(eq=False)
class Rules:
    """An authorizer that allows what it has, and notes what it is asked."""

    allowed: set[tuple[str, Operation]] = field(factory=set)
    questions: list[tuple[str, str, Operation, Resource]] = field(factory=list)

    def authorize(
        self, principal: Principal, host: str, operation: Operation, resource: Resource
    ) -> bool:
        self.questions.append((str(principal), host, operation, resource))
        return (str(principal), operation) in self.allowed

    def authorize_any(self, *_: object) -> bool:
        return False


async def ask_from(
    setup: DispatcherSetup, client: Any, method: str = "GET", path: str = "/app", **headers: str
) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    async def from_there(scope: Any, receive: Any, send: Any) -> None:
        await setup({**scope, "client": client}, receive, send)

    return await ask(from_there, method, path, headers=named)


def setup_of(**settings: Any) -> DispatcherSetup:
    settings.setdefault("anonymous_changes", False)
    return dispatcher_of({"/app": hello}, users={"ann": "secret"}, **settings)


@pytest.mark.parametrize(
    ("client", "look", "change"),
    [
        (("127.0.0.1", 1), 200, 401),
        (("::1", 1), 200, 401),
        (("::ffff:127.0.0.1", 1), 200, 401),
        (FAR, 401, 401),
        (("::ffff:10.0.0.9", 1), 401, 401),
        (("localhost", 1), 401, 401),
        (None, 401, 401),
    ],
)
async def test_without_credentials_this_machine_looks_and_nothing_changes(
    client: Any, look: int, change: int
) -> None:
    setup = setup_of()

    for method in ("GET", "HEAD"):
        assert (await ask_from(setup, client, method)).status == look
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get"):
        assert (await ask_from(setup, client, method)).status == change
    assert (await ask_from(setup, client, path="/healthz")).status == 200


async def test_testing_lets_this_machine_change_and_no_other() -> None:
    setup = setup_of(anonymous_changes=True)

    assert (await ask_from(setup, ("127.0.0.1", 1), "POST")).status == 200
    assert (await ask_from(setup, FAR, "POST")).status == 401


@pytest.mark.parametrize(
    "header",
    [
        *("forwarded", "x_forwarded_for", "x_forwarded_host", "x_forwarded_proto", "x_forwarded"),
        *("x_real_ip", "via", "cf_connecting_ip", "true_client_ip", "x_envoy_external_address"),
    ],
)
async def test_request_through_a_proxy_of_this_machine_is_not_of_this_machine(header: str) -> None:
    answer = await ask_from(setup_of(), ("127.0.0.1", 1), **{header: "10.0.0.9"})

    assert answer.status == 401


async def test_with_a_token_this_machine_needs_it_too() -> None:
    setup = setup_of(token="t0ken", anonymous_changes=True)

    assert (await ask_from(setup, ("127.0.0.1", 1))).status == 401
    bearer = {"authorization": "Bearer t0ken"}
    assert (await ask_from(setup, FAR, "POST", **bearer)).status == 200


async def test_user_may_do_what_the_authorizer_allows_on_the_cluster(
    autojump_clock: MockClock,
) -> None:
    rules = Rules({("User:ann", Operation.DESCRIBE)})
    setup = setup_of(authorizer=rules)

    look = await ask_from(setup, FAR, authorization=ANN)
    change = await ask_from(setup, FAR, "POST", authorization=ANN)

    assert (look.status, change.status) == (200, 403)
    assert b"User:ann has no permission ALTER on the cluster" in change.body
    assert rules.questions == [
        ("User:ann", FAR[0], Operation.DESCRIBE, THE_CLUSTER),
        ("User:ann", FAR[0], Operation.ALTER, THE_CLUSTER),
    ]


async def test_mount_chooses_its_permissions(autojump_clock: MockClock) -> None:
    rules = Rules()
    setup = setup_of(authorizer=rules)
    fault = Operation.CLUSTER_ACTION
    setup.mounts.swap((), [Mount("/fault", hello, "t", look=fault, change=fault)])
    setup.mounts.swap((), [Mount("/own", hello, "t", look=None, change=None)])

    for method in ("GET", "POST"):
        assert (await ask_from(setup, FAR, method, "/fault", authorization=ANN)).status == 403
        assert (await ask_from(setup, FAR, method, "/own", authorization=ANN)).status == 200
        assert (await ask_from(setup, FAR, method, "/own")).status == 401

    assert {operation for _, _, operation, _ in rules.questions} == {fault}


async def test_anonymous_client_that_the_authorizer_denies_may_log_in() -> None:
    setup = setup_of(authorizer=Rules())

    denied = await ask_from(setup, ("127.0.0.1", 1))
    person = await ask_from(setup, ("127.0.0.1", 1), path="/app?a=b", accept="text/html")

    assert denied.status == 401
    assert (person.status, person.headers["location"]) == (303, "/login?next=/app%3Fa%3Db")


async def test_wrong_credentials_do_not_fall_back_to_those_of_this_machine(
    autojump_clock: MockClock,
) -> None:
    wrong = f"Basic {b64encode(b'ann:wrong').decode()}"

    answer = await ask_from(setup_of(), ("127.0.0.1", 1), authorization=wrong)

    assert answer.status == 401
    assert answer.headers["www-authenticate"].startswith("Basic")


async def test_script_of_a_page_gets_no_challenge_that_would_ask_for_a_password() -> None:
    answer = await ask_from(setup_of(), FAR, sec_fetch_mode="cors", sec_fetch_site="same-origin")

    assert answer.status == 401
    assert "www-authenticate" not in answer.headers


async def test_root_lists_its_paths_only_for_clients_that_may_look(
    autojump_clock: MockClock,
) -> None:
    setup = setup_of(authorizer=Rules())

    assert (await ask_from(setup, FAR, path="/")).status == 401
    assert (await ask_from(setup, FAR, path="/", authorization=ANN)).status == 403
    assert (await ask_from(setup, FAR, path="/nowhere")).status == 401


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "this machine may look without credentials, all else needs them"),
        ({"anonymous_changes": True}, "this machine may look and change without credentials"),
        ({"token": "t"}, "every request needs credentials"),
    ],
)
def test_summary_says_which_rule_holds(settings: dict[str, Any], words: str) -> None:
    open_access = setup_of(**settings).access.summary()
    guarded = setup_of(authorizer=Rules(), **settings).access.summary()

    assert open_access.startswith(words)
    assert open_access.endswith("no authorizer is set")
    assert guarded.endswith("the authorizer decides")


async def test_app_gets_the_principal_and_no_credentials(autojump_clock: MockClock) -> None:
    seen: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append((scope["extensions"]["trio_kafka"], dict(scope["headers"])))
        await hello(scope, receive, send)

    setup = setup_of()
    setup.mounts.swap((), [Mount("/seen", app, "t")])
    await ask_from(setup, FAR, path="/seen", authorization=ANN)

    [(extension, headers)] = seen
    assert str(extension["principal"]) == "User:ann"
    assert (extension["authorized"], extension["has_session"]) == (True, False)
    assert b"authorization" not in headers
