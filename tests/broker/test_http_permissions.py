"""Every endpoint over HTTP, with and without the permission that docs/reference names for it."""

import re
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from trio.testing import MockClock

from tests.apis.acls import AUTHORIZER, allow, ask_as_broker, create
from tests.broker.sasl import upsertion
from tests.trio_kafka_http.kit import HttpClient, http_client
from tests.trio_kafka_http.test_plugin import address_of
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from trio_kafka.protocol.messages.k51_alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
)
from trio_kafka.security.acls.entries import Acl
from trio_kafka.security.operations import Operation
from trio_kafka.security.resources import THE_CLUSTER, ResourceType
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world
from trio_kafka_admin.discovery import page_names
from trio_kafka_admin.downloads import DOWNLOADS
from trio_kafka_admin.plugin import admin
from trio_kafka_builtin.faults.plugin import faults
from trio_kafka_builtin.rest_gateway.openapi import document
from trio_kafka_builtin.rest_gateway.plugin import rest_gateway
from trio_kafka_http.plugin import http
from trio_kafka_metrics.plugin import metrics

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs/reference/http-permissions.md"
PLUGINS: Final = (http, admin, metrics, rest_gateway, faults)
SETTINGS: Final = {
    **AUTHORIZER,
    "plugin.rest_gateway.enabled": "true",
    "plugin.faults.enabled": "true",
}
OPEN: Final = "open"
READ: Final = ("GET", "HEAD")
CHANGES: Final = ("POST", "PUT", "PATCH", "DELETE")
BODIES: Final = {
    ("POST", "/v1/topics"): b'{"name": "new"}',
    ("POST", "/v1/topics/{topic}/records"): b'{"records": [{"value": 1}]}',
}


def rows() -> list[tuple[list[str], list[str], str]]:
    """Methods, paths and permission of each row of the page."""
    table = []
    for line in PAGE.read_text().splitlines():
        if line.startswith("| ") and not line.startswith(("| method", "| ---")):
            methods, paths, permission = (cell.strip() for cell in line.strip("|").split("|"))
            table.append((methods.split(", "), re.findall(r"`([^`]+)`", paths), permission))
    return table


def permission_of(method: str, path: str) -> str:
    """The permission of the row with the longest path that equals or contains this one."""
    best = ("", "")
    for methods, paths, permission in rows():
        if method not in methods and methods != ["all"]:
            continue
        for listed_path in paths:
            if path == listed_path or (path.startswith(f"{listed_path}/") and listed_path in BELOW):
                best = max(best, (listed_path, permission), key=lambda pair: len(pair[0]))
    assert best[1], f"{method} {path} is not in {PAGE.name}"
    return best[1]


BELOW: Final = ("/admin", "/testing/v1", "/metrics")


def endpoints(controls: list[str]) -> list[tuple[str, str]]:
    """Every endpoint of the plugins, by method and path."""
    admin_paths = ["/admin", "/admin/api", "/admin/api/openapi.json", "/admin/static/app.js"]
    admin_paths += [f"/admin/{form}{name}" for name in page_names() for form in ("", "api/")]
    admin_paths += [f"/admin/download/{name}" for name in DOWNLOADS]
    test_paths = ["/testing/v1", *(f"/testing/v1/{name}" for name in controls)]
    pairs = [("GET", path) for path in ("/", "/metrics", "/healthz", "/readyz", "/login")]
    pairs += [(method, path) for path in admin_paths for method in READ]
    pairs += [(method, path) for path in test_paths for method in (*READ, *CHANGES)]
    for path, operations in document("/v1")["paths"].items():  # type: ignore[attr-defined]
        pairs += [(method.upper(), f"/v1{path}") for method in operations]
    return pairs


def acls_of(user: str, permission: str) -> list[Acl]:
    """Entries that give a user what a row names, and nothing else."""
    principal = f"User:{user}"
    operations, _, resource = permission.partition(" on the ")
    entries = []
    for name in operations.split(", "):
        operation = Operation[name]
        if resource == "cluster":
            kind, resource_name = ResourceType.CLUSTER, THE_CLUSTER.name
        else:
            kind, resource_name = ResourceType.TOPIC, "new" if name == "CREATE" else "t"
        entries.append(allow(operation, kind, resource_name, principal=principal))
    return entries


def user_of(permission: str) -> str:
    return re.sub(r"[^a-z]+", "-", permission.lower())


@asynccontextmanager
async def broker(permissions: set[str]) -> AsyncIterator[tuple[ServedBroker, HttpClient]]:
    """A broker with a topic `t`, a user for each permission, and one without any."""
    async with served_broker(simulated_world(), SETTINGS, plugins=PLUGINS) as served:
        users = [user_of(permission) for permission in permissions]
        request = AlterUserScramCredentialsRequest(
            upsertions=[upsertion(user, user) for user in ("nothing", *users)]
        )
        await ask_as_broker(served, request)
        await ask_as_broker(served, CreateTopicsRequest([CreatableTopic("t", 1, 1)]))
        for permission in permissions:
            acls = acls_of(user_of(permission), permission)
            assert await create(served, *acls) == [0] * len(acls)
        async with http_client(served.broker.world, address_of(served.broker)) as client:
            yield served, client


def basic_of(user: str) -> dict[str, str]:
    return {"authorization": f"Basic {b64encode(f'{user}:{user}'.encode()).decode()}"}


async def status_of(client: HttpClient, method: str, path: str, user: str | None) -> int:
    headers = {} if user is None else basic_of(user)
    target = path.replace("{topic}", "t").replace("{partition}", "0")
    body = BODIES.get((method, path), b"")
    if "/download/" in target:
        target += "?seconds=1"
    return (await client.ask(method, target, headers=headers, body=body)).status


async def test_every_endpoint_needs_the_permission_that_its_row_names(
    autojump_clock: MockClock,
) -> None:
    named = {permission for _, _, permission in rows() if " on the " in permission}
    usable = {p for p in named if not p.startswith(("DESCRIBE on the cluster,", "ALTER"))}
    several = {"CREATE on the topic or the cluster": "CREATE on the topic"}
    usable = {several.get(permission, permission) for permission in usable}
    async with broker(usable) as (served, client):
        mounted = {mount.path for mount in served.broker.plugins.dependencies.mounts}
        # Mounted apps without a row, or plugins that this test does not start, would be forgotten.
        assert mounted == {"/admin", "/metrics", "/testing/v1", "/v1"}
        tester = basic_of(user_of("CLUSTER_ACTION on the cluster"))
        answer = await client.ask("GET", "/testing/v1", headers=tester)
        controls = re.findall(r'"([a-z]+)"', answer.body.decode().partition("[")[2])
        assert len(controls) > 5

        wrong = []
        for method, path in endpoints(controls):
            permission = permission_of(method, path)
            anonymous = await status_of(client, method, path, None)
            nothing = await status_of(client, method, path, "nothing")
            if permission == OPEN:
                expected = [200, 200]
            elif permission.startswith("any user"):
                expected = [200, 200]  # this machine may look, and sees nothing
            else:
                expected = [401, 403]
                if path.startswith("/v1/") and method == "GET":
                    expected = [403, 403]  # the gateway asks for the topic, as User:ANONYMOUS
                user = user_of(several.get(permission, permission))
                allowed = await status_of(client, method, path, user)
                if permission.startswith("DESCRIBE, "):
                    describer = user_of("DESCRIBE on the cluster")
                    assert await status_of(client, method, path, describer) == 403
                if allowed in (401, 403) or allowed >= 500:
                    wrong.append((method, path, permission, "allowed", allowed))
            if [anonymous, nothing] != expected:
                wrong.append((method, path, permission, "denied", anonymous, nothing))
    assert wrong == []


def test_every_plugin_that_mounts_an_app_is_in_the_table() -> None:
    mounting = {
        file.relative_to(ROOT).parent.as_posix()
        for folder in ("plugins", "admin_ui")
        for file in (ROOT / folder).rglob("*.py")
        if "context.mount(" in file.read_text()
    }

    assert mounting == {
        "admin_ui/trio_kafka_admin",
        "plugins/trio_kafka_builtin/faults",
        "plugins/trio_kafka_builtin/pipelines",
        "plugins/trio_kafka_builtin/rest_gateway",
        "plugins/trio_kafka_metrics",
    }
