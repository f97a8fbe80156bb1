"""The logged-in user, on every page, and the logout."""

from typing import Any

from trio.testing import MockClock

from tests.trio_kafka_admin.kit import Ui, admin_ui, read_html
from trio_kafka.security.principal import NOBODY, Principal
from trio_kafka.testing.asgi import ask
from trio_kafka_admin.account import Viewer, account, viewer_of

ANN = Principal("User", "ann<b>")


def scope_of(**plane: Any) -> Any:
    return {"extensions": {"trio_kafka": plane}}


def test_viewer_is_what_the_plane_says() -> None:
    assert viewer_of({}) == Viewer(NOBODY, False)
    assert viewer_of(scope_of(principal=ANN, has_session=True)) == Viewer(ANN, True)


def test_viewer_without_credentials_sees_nothing_new() -> None:
    assert account(Viewer()) == ""


def test_user_of_a_script_is_named_and_has_no_logout() -> None:
    shown = read_html(account(Viewer(ANN, False)))

    assert shown.text == "User:ann<b>"
    assert shown.all("form") == shown.all("b") == []


def test_session_has_a_logout_that_is_a_post() -> None:
    form = read_html(account(Viewer(ANN, True))).find("form")

    assert (form.attributes["method"], form.attributes["action"]) == ("post", "/logout")
    assert form.find("button").text == "log out"
    assert read_html(account(Viewer(NOBODY, True))).all("form") != []


async def test_viewers_with_and_without_a_session_do_not_share_a_page(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        mount = ui.served.broker.plugins.dependencies.mounts.find("/admin")
        assert mount is not None
        forms = []
        for has_session in (True, False, True):
            extensions = {"trio_kafka": {"principal": ANN, "has_session": has_session}}
            answer = await ask(mount.app, "GET", "/admin/jobs", extensions=extensions)
            page = read_html(answer.body.decode())
            forms.append(len(page.all("form", class_="account")))
            assert page.find("span", id="user").text == "User:ann<b>"
        other = await Ui(ui.served, NOBODY).page("/admin/jobs")

    assert forms == [1, 0, 1]
    assert other.all("span", id="user") == []
