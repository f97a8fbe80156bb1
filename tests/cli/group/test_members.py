"""Members of groups, as `members`, `describe` and `seek` show and respect them."""

import json

import pytest
import trio

from tests.cli.kit import Shell
from trio_kafka.clients import open_consumer


@pytest.mark.slow
def test_member_is_shown_and_keeps_its_offsets(shell: Shell, group: str) -> None:
    settings = {
        "bootstrap.servers": shell.kafka.bootstrap,
        "group.id": "running",
        "group.protocol": "consumer",
        "auto.offset.reset": "earliest",
        "client.id": "app",
    }

    async def look() -> tuple[list[dict[str, object]], str]:
        async with open_consumer(settings) as consumer:
            consumer.subscribe(["read"])
            await consumer.poll(10.0)
            output = await trio.to_thread.run_sync(
                shell.run, "group", "members", "running", "--json"
            )
            line = await trio.to_thread.run_sync(
                shell.fail, "group", "seek", "running", "--to", "0", "-t", "read"
            )
            return json.loads(output)["members"], line

    (member,), line = trio.run(look)

    assert member["client_id"] == "app"
    assert member["partitions"] == [["read", 0], ["read", 1]]
    assert "it has 1 members: stop them first" in line
