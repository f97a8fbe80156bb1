"""The example of faults by rule: its own tests, its README line by line, with a real client."""

import json
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.examples.packages import Example, run_at, serving
from trio_kafka.testing.processes import unused_port

pytestmark = pytest.mark.slow
CHAOS = Example("chaos")
HTTP = "127.0.0.1:8083"


def test_its_own_tests_pass() -> None:
    assert "passed" in CHAOS.run_tests()


def test_the_readme_works_with_a_real_client(tmp_path: Path) -> None:
    [rules] = CHAOS.blocks("toml")
    (tmp_path / "rules.toml").write_text(rules)
    [block] = CHAOS.blocks("sh")
    _, start, listed, added, removed, tree = block.splitlines()
    http = f"127.0.0.1:{unused_port()}"
    settings = [
        part.replace("rules.toml", str(tmp_path / "rules.toml")).replace(HTTP, http)
        for part in start.split(" -c ")[1:]
    ]

    with serving(CHAOS, tmp_path, *settings) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([NewTopic("orders-1", 1, 1)])["orders-1"].result(20)
        lost: list[object] = []
        producer = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True})
        for number in range(20):
            producer.produce(
                "orders-1", b"%d" % number, on_delivery=lambda e, _: e and lost.append(e)
            )
            assert producer.flush(20) == 0
        first = {
            one["name"]: one for one in json.loads(run_at(broker, listed, **{HTTP: http}))["rules"]
        }
        made = run_at(broker, added, **{HTTP: http})
        run_at(broker, removed, **{HTTP: http})
        shown = run_at(broker, tree)

    assert lost == []
    assert first["leaders-move"]["done"] == 5
    assert first["slow-admin"]["done"] == 1
    assert json.loads(made) == {"name": "gone"}
    assert "leaders-move" in shown
    assert "gone" not in shown
