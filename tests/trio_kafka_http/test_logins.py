"""Checks of passwords: what they cost, what they tell, and what the log has of them."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.trio_kafka_http.kit import DispatcherSetup, credential_record, dispatcher_of, image_of
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.security.sasl.scram import ScramCredential
from trio_kafka_http.admission import RefusedError
from trio_kafka_http.logins import Logins

HERE = "10.0.0.1"


def logins_of(setup: DispatcherSetup | None = None) -> Logins:
    return (setup or dispatcher_of(users={"ann": "secret"})).access.logins


async def log_in(logins: Logins, user: str, password: str, address: str = HERE) -> str | None:
    account = await logins.by_password(user.encode(), password.encode(), address, way="basic")
    return None if account is None else str(account.principal)


async def test_only_the_right_password_logs_a_user_in(
    autojump_clock: MockClock,
) -> None:
    logins = logins_of()

    assert await log_in(logins, "ann", "secret") == "User:ann"
    for user, password in (
        ("ann", "Secret"),
        ("ann", ""),
        ("", "secret"),
        ("eve", "secret"),
        ("ann\0", "secret"),
        ("ann", "secret" + "x" * 2000),
    ):
        assert await log_in(logins, user, password) is None
    for user in (b"ann\xff", b"\xff" * 5000):
        assert await logins.by_password(user, b"secret", HERE, way="basic") is None


async def test_failure_takes_the_same_time_and_work_for_a_known_and_an_unknown_user(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[tuple[str, int]] = []

    def note(mechanism: Any, password: str, credential: ScramCredential) -> bool:
        checked.append((mechanism.name, credential.iterations))
        return True

    logins = logins_of()
    times = []
    for user, password in (("ann", "wrong"), ("eve", "wrong")):
        began = trio.current_time()
        assert await log_in(logins, user, password) is None
        times.append(trio.current_time() - began)
    monkeypatch.setattr("trio_kafka_http.logins.fits", note)
    assert await log_in(logins, "eve", "any") is None
    assert await log_in(logins, "ann", "any") == "User:ann"

    assert times == [0.1, 0.1]
    assert checked == [("SCRAM-SHA-256", 4096)] * 2


async def test_password_is_stretched_in_a_thread_once_and_again_after_a_change(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    images = [image_of({"ann": "secret"})]
    logins = logins_of()
    monkeypatch.setattr(logins.accounts, "_image", lambda: images[-1])

    async def run_in_thread(call: Any, *arguments: Any) -> bool:
        calls.append(call.__name__)
        await trio.lowlevel.checkpoint()
        right: bool = call(*arguments)
        return right

    monkeypatch.setattr(logins, "_run_in_thread", run_in_thread)

    for _ in range(3):
        assert await log_in(logins, "ann", "secret") == "User:ann"
    assert calls == ["fits"]
    images.append(image_of({"ann": "changed"}))
    assert await log_in(logins, "ann", "secret") is None
    assert await log_in(logins, "ann", "changed") == "User:ann"
    images.append(MetadataImage())
    assert await log_in(logins, "ann", "changed") is None


async def test_user_with_too_many_failures_is_refused_even_with_the_right_password(
    autojump_clock: MockClock,
) -> None:
    setup = dispatcher_of(users={"ann": "secret"})
    logins = logins_of(setup)

    for _ in range(10):
        assert await log_in(logins, "ann", "wrong") is None
    with pytest.raises(RefusedError, match=r"too many failed logins: try again in \d s") as caught:
        await log_in(logins, "ann", "secret")

    assert caught.value.status == 429
    assert [name for name, _ in caught.value.headers] == [b"retry-after"]
    assert await log_in(logins, "ann", "secret", "10.0.0.2") == "User:ann"
    await trio.sleep(6)
    assert await log_in(logins, "ann", "secret") == "User:ann"
    results = [
        setup.counters.value("http_logins", result=result)
        for result in ("failed", "refused", "succeeded")
    ]
    assert results == [10, 1, 1]  # the last one was remembered


async def test_attempts_at_once_do_not_pass_the_limit_together(autojump_clock: MockClock) -> None:
    logins, refused, failed = logins_of(), list[int](), list[None]()

    async def attempt() -> None:
        try:
            await log_in(logins, "ann", "wrong")
            failed.append(None)
        except RefusedError as error:
            refused.append(error.status)

    async with trio.open_nursery() as nursery:
        for _ in range(50):
            nursery.start_soon(attempt)

    assert (len(failed), refused) == (10, [429] * 40)


async def test_more_logins_than_can_wait_are_refused(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    logins, statuses, go_on = logins_of(), list[int](), trio.Event()

    async def run_in_thread(call: Any, *arguments: Any) -> bool:
        await go_on.wait()
        right: bool = call(*arguments)
        return right

    async def attempt(number: int) -> None:
        try:
            await log_in(logins, "ann", "secret", f"10.0.1.{number}")
        except RefusedError as error:
            statuses.append(error.status)

    monkeypatch.setattr(logins, "_run_in_thread", run_in_thread)
    async with trio.open_nursery() as nursery:
        for number in range(40):
            nursery.start_soon(attempt, number)
        await wait_all_tasks_blocked()
        assert statuses == [503] * 8
        assert logins.queue_figures()["depth"] == 32
        go_on.set()

    assert logins.queue_figures()["depth"] == 0


async def test_log_names_the_address_and_known_users_only(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    logins = logins_of()

    await log_in(logins, "ann", "secret")
    await log_in(logins, "ann", "hunter2")
    await log_in(logins, "my-password-typed-as-user", "hunter2")

    lines = [(record.msg, record.fields) for record in caplog.records]  # type: ignore[attr-defined]
    assert lines == [
        ("login succeeded", {"principal": "User:ann", "peer": HERE, "by": "basic"}),
        ("login failed", {"peer": HERE, "user": "ann"}),
        ("login failed", {"peer": HERE, "user": "unknown"}),
    ]


async def test_token_is_a_password_of_every_user_and_wrong_tokens_count_as_failures(
    autojump_clock: MockClock,
) -> None:
    logins = logins_of(dispatcher_of(token="t0ken", principal="User:web"))

    assert await log_in(logins, "any", "t0ken") == "User:web"
    for _ in range(10):
        assert await logins.by_token(b"wrong", HERE) is None
    with pytest.raises(RefusedError):
        await logins.by_token(b"t0ken", HERE)


async def test_sha_512_credential_is_checked_with_its_own_hash(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = credential_record("ann", "secret", 2)
    logins = logins_of()
    image = image_of({})
    image = MetadataImage(scram=image.scram.updated({("ann", 2): record}))
    monkeypatch.setattr(logins.accounts, "_image", lambda: image)

    assert await log_in(logins, "ann", "secret") == "User:ann"
    assert await log_in(logins, "ann", "wrong") is None
