"""The pages of the plane itself, without a script: the login, and a refusal for a person.

All that comes from a request is escaped. Source: OWASP Cross Site Scripting Prevention Cheat Sheet.
"""

from base64 import b64encode
from hashlib import sha256
from html import escape
from typing import Final
from urllib.parse import parse_qsl, quote

from trio_kafka_http.request_cycle import Headers

LOGIN: Final = "/login"
LOGOUT: Final = "/logout"
_LONGEST_NEXT: Final = 2048
_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:22rem;margin:12vh auto;padding:0 1rem;"
    "color-scheme:light dark}label{display:block;margin:.8rem 0}"
    "input,button{font:inherit;width:100%;box-sizing:border-box;padding:.4rem}"
)
_POLICY: Final = (
    "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; style-src "
    f"'sha256-{b64encode(sha256(_STYLE.encode()).digest()).decode()}'"
)
OWN_WINDOW: Final = (
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""Headers of a page that others neither open and watch nor load (HTML §7.1.3, Fetch §3.6)."""
PAGE_HEADERS: Final[Headers] = (
    (b"content-type", b"text/html; charset=utf-8"),
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    *OWN_WINDOW,
    (b"referrer-policy", b"same-origin"),  # with no-referrer the form's Origin would be null
)
_HEAD: Final = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    f"<title>trio-kafka</title><style>{_STYLE}</style></head><body><main>"
)
_FOOT: Final = "</main></body></html>"


def login_page(next_path: str, error: str = "") -> bytes:
    """Return the page with the form. next_path: where to go after the login."""
    said = f'<p role="alert">{escape(error)}</p>' if error else ""
    page = (
        f"{_HEAD}<h1>Log in</h1>{said}"
        f'<form method="post" action="{LOGIN}">'
        f'<input type="hidden" name="next" value="{escape(next_path)}">'
        '<label>User <input name="user" autocomplete="username" autofocus></label>'
        '<label>Password <input name="password" type="password" autocomplete="current-password">'
        f"</label><button>Log in</button></form>{_FOOT}"
    )
    return page.encode()


def refusal_page(message: str, next_path: str) -> bytes:
    """Return a page that says why a person does not get a page, with a link to the login."""
    address = escape(login_address(next_path))
    link = f'<p><a href="{address}">log in as another user</a></p>'
    return f"{_HEAD}<h1>Not allowed</h1><p>{escape(message)}</p>{link}{_FOOT}".encode()


def login_address(next_path: str) -> str:
    """Return the address of the login page. next_path: path and query of this plane."""
    return f"{LOGIN}?next={quote(safe_next(next_path), safe='/')}"


def safe_next(path: str) -> str:
    """Return a path of this plane, or `/` for anything that a browser could read otherwise.

    `//host` and `/\\host` name other machines, and browsers drop tabs and line ends.
    """
    is_plain = path.isascii() and path.isprintable() and "\\" not in path and " " not in path
    is_here = path.startswith("/") and not path.startswith("//")
    return path if is_plain and is_here and len(path) <= _LONGEST_NEXT else "/"


def read_form(body: bytes) -> dict[str, str]:
    """Return the fields of a form. Raises ValueError: not UTF-8, or too many."""
    pairs = parse_qsl(
        body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=10
    )
    return dict(pairs)


def next_of(query: bytes) -> str:
    """Return where the query of a login page leads to."""
    try:
        return safe_next(read_form(query).get("next", "/"))
    except ValueError:
        return "/"
