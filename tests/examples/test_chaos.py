"""The example of faults by rule: its own tests, its README line by line, with a real client."""

from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.examples.packages import Example, run_at, serving

pytestmark = pytest.mark.slow
CHAOS = Example("chaos")


def test_the_tests_of_the_chaos_example_pass() -> None:
    assert "passed" in CHAOS.run_tests()


def test_the_commands_of_the_chaos_readme_work_with_a_real_client(tmp_path: Path) -> None:
    [rules] = CHAOS.blocks("toml")
    (tmp_path / "rules.toml").write_text(rules)
    [block] = CHAOS.blocks("sh")
    _, start, tree, reload = block.splitlines()
    settings = [
        part.replace("rules.toml", str(tmp_path / "rules.toml")) for part in start.split(" -c ")[1:]
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
        shown = run_at(broker, tree)
        (tmp_path / "rules.toml").write_text(rules.replace("leaders-move", "moved"))
        run_at(broker, reload)
        after = run_at(broker, tree)

    assert lost == []
    [leaders] = [line for line in shown.splitlines() if "leaders-move" in line]
    [admin_line] = [line for line in shown.splitlines() if "slow-admin" in line]
    assert "hits=5" in leaders
    assert "hits=1" in admin_line
    assert "moved" in after
    assert "leaders-move" not in after
