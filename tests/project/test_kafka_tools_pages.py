"""Pages with commands of Apache Kafka's own tools: every shell block runs as it stands.

The tools are Kafka's, from its jars; scripts of the names that the pages use start them. They run
in a network of their own, in which the broker has the addresses that the pages name.
"""

import os
import re
from pathlib import Path

import pytest

from tests.clients.build import APACHE_KAFKA, class_path
from tests.clients.console.program import jvm_options, keep_classes
from tests.installed import skipped_if_missing
from tests.project.shell_pages import blocks, can_isolate, quoted, run_blocks, shell_blocks
from tests.project.tree import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]  # a JVM for each command
GUIDES = ROOT / "docs" / "how-to"
TOOLS = {
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-configs.sh": "kafka.admin.ConfigCommand",
    "kafka-delete-records": "DeleteRecordsCommand",
    "kafka-log-dirs": "LogDirsCommand",
    "kafka-reassign-partitions": "reassign.ReassignPartitionsCommand",
}


@pytest.fixture(autouse=True)
def tools(tmp_path: Path) -> None:
    """Write the scripts to `bin`, unless this machine cannot run them."""
    if not can_isolate():
        pytest.skip("unshare gives no network namespace here: install util-linux and iproute2")
    with skipped_if_missing():
        class_path("tools")
    (tmp_path / "bin").mkdir()
    for name, tool in TOOLS.items():
        script = tmp_path / "bin" / name
        start = quoted("exec", str(APACHE_KAFKA / "tool.sh"), tool)
        keep_classes(tool)
        options = " ".join(jvm_options(tool))
        script.write_text(f'#!/bin/sh\nexport KAFKA_HEAP_OPTS="{options}"\n{start} "$@"\n')
        script.chmod(0o755)


def run_guide(
    directory: Path, texts: list[str], *settings: str, before: str = "", after: str = ""
) -> list[str]:
    """Run blocks beside a broker with these settings; return what each printed, `after` last."""
    start = (
        f"trio-kafka start --embedded {quoted(*(f'-c{setting}' for setting in settings))}".rstrip()
    )
    path = f"export PATH={quoted(str(directory / 'bin'))}:$PATH"
    return run_blocks([*texts, after], directory, before=f"{path}\n{start}\n{before}")


def test_commands_of_the_control_plane_guide_add_a_listener_that_serves(tmp_path: Path) -> None:
    page = GUIDES / "control-plane.md"
    [properties] = [block.text for block in blocks(page) if block.language == "properties"]
    settings = dict(line.split("=", 1) for line in properties.splitlines())
    settings["listener.security.protocol.map"] += ",INSIDE:PLAINTEXT"

    *_, tree = run_guide(
        tmp_path,
        shell_blocks(page),
        *(f"{name}={text}" for name, text in settings.items()),
        before="ip address add 10.0.0.1/32 dev lo",
        after="trio-kafka tree --bootstrap 10.0.0.1:9095",
    )

    assert re.search(r"INSIDE.*9095|9095.*INSIDE", tree), tree


def test_commands_of_the_quotas_guide_set_and_show_quotas(tmp_path: Path) -> None:
    altered, _, _ = run_guide(tmp_path, shell_blocks(GUIDES / "quotas.md"))

    assert "Completed updating config for client reports" in altered
    assert "Completed updating default config for users" in altered
    assert "producer_byte_rate=1048576" in altered.splitlines()[-1]


def test_commands_of_the_several_disks_guide_move_a_replica_and_delete_records(
    tmp_path: Path,
) -> None:
    page = GUIDES / "several-disks.md"
    disks = [str(tmp_path / name) for name in ("disk1", "disk2")]

    def here(text: str) -> str:
        """Put the two directories of the page where a test may write."""
        return re.sub(r"/disk(?=[12])", str(tmp_path / "disk"), text)

    [moves] = re.findall(
        r"^ +(\{\"version\".*?\n +\]\})$", page.read_text(), re.MULTILINE | re.DOTALL
    )
    (tmp_path / "moves.json").write_text(here(moves))
    produce = """python3 - <<'END'
from confluent_kafka import Producer
producer = Producer({"bootstrap.servers": "127.0.0.1:9092"})
for number in range(2000):
    producer.produce("orders", str(number))
assert producer.flush(20) == 0
END"""

    shown, _, begun, verified, deleted, after = run_guide(
        tmp_path,
        [here(text) for text in shell_blocks(page)],
        f"log.dirs={','.join(disks)}",
        before=produce,
        after="kafka-log-dirs --bootstrap-server 127.0.0.1:9092 --describe --topic-list orders",
    )

    assert all(os.path.isdir(disk) and disk in shown for disk in disks)
    assert "for replica orders-0 with broker 1" in begun
    assert "replica orders-0" in verified
    assert re.search(r"partition: orders-0\s+low_watermark: 1500", deleted)
    assert "orders-0" in after
