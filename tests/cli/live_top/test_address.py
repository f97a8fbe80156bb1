"""Address of the admin UI, from a broker's tree."""

import pytest

from trio_kafka.cli.live_top.address import admin_address
from trio_kafka.introspect.snapshots import NodeSnapshot, TreeSnapshot


def tree(listener: str, *, enabled: bool = True) -> TreeSnapshot:
    figures = {"enabled": enabled, "setting.path": "/admin"}
    return TreeSnapshot(
        0.0,
        {
            ("b", "plugins", "admin"): NodeSnapshot("plugin", "admin", figures),
            ("b", "PLAINTEXT"): NodeSnapshot("listener", "listener PLAINTEXT://a:9092", {}),
            ("b", "plugins", "http", "l"): NodeSnapshot("listener", listener, {}),
        },
    )


@pytest.mark.parametrize(
    ("listener", "address"),
    [
        ("http://127.0.0.1:9644", "http://127.0.0.1:9644/admin"),
        ("http://0.0.0.0:1", "http://localhost:1/admin"),
        ("http://[::]:1", "http://localhost:1/admin"),
        ("http://[::1]:1", "http://[::1]:1/admin"),
        ("https://0.0.0.0:1", "https://localhost:1/admin"),
    ],
)
def test_listener_and_path_make_the_address(listener: str, address: str) -> None:
    assert admin_address(tree(listener), "localhost") == address


def test_broker_without_admin_ui_or_http_has_no_address() -> None:
    assert admin_address(tree("http://host:1", enabled=False), "h") is None
    assert admin_address(tree("listener CONTROLLER"), "h") is None
