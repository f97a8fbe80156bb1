"""The gateway behind the real HTTP plane, asked over a socket."""

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import trio

from trio_kafka.testing.broker import served_broker
from trio_kafka.world.real import RealWorld
from trio_kafka_builtin.rest_gateway.plugin import rest_gateway
from trio_kafka_http.plugin import http

pytestmark = pytest.mark.slow


def ask(url: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data), timeout=20) as answer:
        return json.load(answer)


async def test_records_go_in_and_out_over_http(tmp_path: Path) -> None:
    pytest.importorskip("hypercorn", reason="hypercorn is not installed: trio-kafka[http]")
    settings = {"log.dirs": str(tmp_path / "data"), "plugin.rest_gateway.enabled": "true"}
    async with served_broker(RealWorld(), settings, plugins=(http, rest_gateway)) as served:
        (listener,) = [
            node for _, node in served.broker.node.walk() if node.name.startswith("http://")
        ]
        root = f"{listener.name}/v1/topics"
        await trio.to_thread.run_sync(ask, root, {"name": "t"})
        body = {"records": [{"value": {"a": 1}}]}
        rows = await trio.to_thread.run_sync(ask, f"{root}/t/records", body)
        found = await trio.to_thread.run_sync(ask, f"{root}/t/partitions/0/records")

    assert rows == {"offsets": [{"partition": 0, "offset": 0}]}
    assert found["records"][0]["value"] == {"a": 1}
