"""The OpenAPI document, and each page's JSON held against it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio
from jsonschema_rs import Draft202012Validator
from trio.testing import MockClock

from tests.apis.kit import batch, fetch_request, produce, write
from tests.apis.transactional_ids import begin
from tests.coordinators.transactions.test_open_transactions import hang
from tests.trio_kafka_admin.group_kit import heartbeat, lagging_groups
from tests.trio_kafka_admin.kit import Ui, admin_ui
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.testing.scripted_client import request_frame

QUERIES = {
    "groups": ("", "name=b", "limit=1", "of=none"),
    "topics": ("", "name=orders", "limit=1", "of=none"),
    "transactions": ("", "name=payments", "limit=1", "of=none"),
    "clients": ("", "name=scripted", "limit=1", "of=none"),
}
"""Queries beside the empty one."""


@asynccontextmanager
async def busy_ui() -> AsyncIterator[Ui]:
    """A broker with something of everything that pages show."""
    async with admin_ui() as ui:
        served = ui.served
        await served.ask(ApiVersionsRequest("soft", "1.0"))
        await lagging_groups(served)
        joined = await heartbeat(served, "b", "m" * 22, "orders")
        records = batch(b"x", producer_id=7, producer_epoch=1, base_sequence=0)
        await produce(served, "orders", records)
        await begin(served, {"orders": [0]})
        await hang(served, "orders")
        async with served.connect() as gone:
            await gone.ask(ApiVersionsRequest("soft", "1.0"), 3)
        async with served.connect() as consumer:
            fetch = fetch_request("orders", 7, max_wait_ms=60_000)
            await consumer.send(request_frame(fetch, 12))
            await visit(ui)
            await trio.sleep(10)
            await write(served, "orders", b"x")
            await heartbeat(served, "b", "m" * 22, epoch=joined.member_epoch)
            yield ui


async def visit(ui: Ui) -> None:
    """Look at every page once, so that later looks have rates."""
    for name in QUERIES:
        await ui.json(f"/admin/api/{name}")


def validator(document: dict[str, Any], path: str) -> Draft202012Validator:
    answers = document["paths"][path]["get"]["responses"]
    schema = answers["200"]["content"]["application/json"]["schema"]
    return Draft202012Validator({**schema, "components": document["components"]})


async def test_json_of_every_page_has_the_shape_that_the_document_says(
    autojump_clock: MockClock,
) -> None:
    async with busy_ui() as ui:
        document = await ui.json("/admin/api/openapi.json")
        index = await ui.json("/admin/api")
        problems = []
        for path in [page["path"] for page in index["pages"]]:
            check = validator(document, path)
            for query in QUERIES.get(path.rpartition("/")[2], ("",)):
                data = await ui.json(f"{path}?{query}")
                problems += [
                    f"{path}?{query} {list(error.instance_path)}: {error.message}"
                    for error in check.iter_errors(data)
                ]

        assert problems == []
        assert set(document["paths"]) == {"/admin/api", *(page["path"] for page in index["pages"])}
        assert validator(document, "/admin/api").is_valid(index)


async def test_document_names_parameters_and_shapes_of_described_pages(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        document = await ui.json("/admin/api/openapi.json")
        groups = document["paths"]["/admin/api/groups"]["get"]
        parameters = {each["name"]: each["schema"]["type"] for each in groups["parameters"]}

        assert document["openapi"] == "3.1.0"
        assert parameters == {
            "name": "string",
            "of": "string",
            "first": "integer",
            "limit": "integer",
        }
        schema = groups["responses"]["200"]["content"]["application/json"]["schema"]
        assert schema == {"$ref": "#/components/schemas/GroupsAnswer"}
        lag = document["components"]["schemas"]["PartitionRow"]["properties"]["lag"]
        assert lag == {"anyOf": [{"type": "integer"}, {"type": "null"}]}


async def test_errors_have_the_shape_that_the_document_says(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        document = await ui.json("/admin/api/openapi.json")
        error = await ui.json("/admin/api/groups?name=none", status=404)

        schema = document["components"]["schemas"]["Error"]
        assert Draft202012Validator(schema).is_valid(error)


async def test_document_that_is_wrong_is_noticed(autojump_clock: MockClock) -> None:
    async with busy_ui() as ui:
        document = await ui.json("/admin/api/openapi.json")
        data = await ui.json("/admin/api/groups?name=b")
        check = validator(document, "/admin/api/groups")
        assert check.is_valid(data)

        data["group"]["partitions"][0]["lag"] = "5"
        assert not check.is_valid(data)


async def test_document_is_at_the_path_of_the_ui(autojump_clock: MockClock) -> None:
    async with admin_ui(path="/ops/ui") as ui:
        document = await ui.json("/ops/ui/api/openapi.json")

        assert "/ops/ui/api/topics" in document["paths"]
