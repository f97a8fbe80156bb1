"""The user who is logged in, and the button that ends the session."""

from attrs import frozen

from trio_kafka.plugin_host.mounts import Scope
from trio_kafka.security.principal import NOBODY, Principal
from trio_kafka_admin.markup import NOTHING, Html, tag, text
from trio_kafka_http.asgi_json import has_session, principal_of
from trio_kafka_http.login_page import LOGOUT


@frozen
class Viewer:
    """Viewer of a page. has_session: logged in by the login page, so that a logout exists."""

    principal: Principal = NOBODY
    has_session: bool = False


def viewer_of(scope: Scope) -> Viewer:
    """Return the viewer behind the scope of a request."""
    return Viewer(principal_of(scope), has_session(scope))


def account(viewer: Viewer) -> Html:
    """Return the viewer's principal and the logout; nothing for a viewer without credentials."""
    if viewer.principal == NOBODY and not viewer.has_session:
        return NOTHING
    name = tag("span", text(str(viewer.principal)), id="user", title="logged in as")
    if not viewer.has_session:
        return name
    button = tag("button", text("log out"))
    return tag("form", name, button, method="post", action=LOGOUT, class_="account")
