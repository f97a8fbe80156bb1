"""Address of a broker's admin UI, found in its tree."""

from typing import Final
from urllib.parse import urlsplit

from trio_kafka.introspect.snapshots import TreeSnapshot

KINDS: Final = ("plugin", "plane", "listener")
"""Kinds of the nodes that `admin_address` needs."""
_EVERY_HOST: Final = ("0.0.0.0", "::")  # noqa: S104 - compared with, not bound to


def admin_address(tree: TreeSnapshot, host: str) -> str | None:
    """Return the URL of the admin UI of a broker; None: it serves none.

    host: at which the broker was reached, for a listener on every address.
    """
    path = listener = None
    for node in tree.nodes.values():
        if node.kind == "plugin" and node.name == "admin" and node.figures.get("enabled") is True:
            path = str(node.figures.get("setting.path"))
        elif node.kind == "listener" and node.name.startswith(("http://", "https://")):
            listener = listener or node.name
    if path is None or listener is None:
        return None
    parts = urlsplit(listener)
    name = host if parts.hostname in _EVERY_HOST else parts.hostname or host
    shown = f"[{name}]" if ":" in name else name
    return f"{parts.scheme}://{shown}:{parts.port}{path}"
