"""Every shell block of the documentation runs as it stands, its ports included."""

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.examples.packages import Example
from tests.project.shell_pages import blocks, can_isolate, run_page, shell_blocks
from tests.project.tree import ROOT, tracked_files

PAGES = [
    path
    for path in tracked_files()
    if path.suffix == ".md" and any(block.language == "sh" for block in blocks(ROOT / path))
]
# Pages whose blocks another test runs, or which need what no test has.
ELSEWHERE = {
    "docs/how-to/install.md": "tests/project/test_install_guide.py: installs from the index",
    "docs/how-to/test-your-application.md": "tests/project/test_install_guide.py: as well",
    "docs/how-to/spark-jobs.md": "tests/trio_kafka_spark/test_guides.py: a session",
    "docs/how-to/pipelines.md": "tests/trio_kafka_spark/pipeline/test_pipelines_page.py: sessions",
    "docs/tutorial/order-service.md": "tests/examples/test_order_service.py: writes files as well",
    "docs/tutorial/first-api.md": "tests/plugin_host/test_first_api.py: writes files as well",
    "docs/how-to/control-plane.md": "tests/project/test_kafka_tools_pages.py: Kafka's tools",
    "docs/how-to/quotas.md": "tests/project/test_kafka_tools_pages.py: Kafka's tools",
    "docs/how-to/several-disks.md": "tests/project/test_kafka_tools_pages.py: Kafka's tools",
}
RECORDS = """
python3 - <<'END'
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

admin = AdminClient({"bootstrap.servers": "127.0.0.1:9092"})
for future in admin.create_topics([NewTopic("t", 3), NewTopic("orders", 1)]).values():
    future.result()
producer = Producer({"bootstrap.servers": "127.0.0.1:9092", "client.id": "my-app"})
producer.produce("orders", b"tea")
producer.flush()
END
"""
# Events are written after the answers to what they tell.
AUDITED = """
python3 - <<'END'
from time import monotonic, sleep
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

admin, end = AdminClient({"bootstrap.servers": "127.0.0.1:9092"}), monotonic() + 30
at, number = TopicPartition("trio-audit", 0), 0
while monotonic() < end:
    number += 1  # an event that the broker was too busy to write is not written later
    admin.create_topics([NewTopic(f"audited-{number}", 1)])[f"audited-{number}"].result()
    try:
        if admin.list_offsets({at: OffsetSpec.latest()})[at].result().offset > 0:
            break
    except KafkaException:
        pass  # it is being created
    sleep(0.1)
END
"""
EMBEDDED = f"trio-kafka start --embedded\n{RECORDS}"


def started_with(page: str) -> str:
    """Start a broker with the settings that the page shows."""
    text = next(block.text for block in blocks(ROOT / page) if block.language == "properties")
    options = " ".join(f"-c '{line}'" for line in text.splitlines())
    return f"trio-kafka start --embedded {options}\n{RECORDS}"


BEFORE: Mapping[str, str] = {
    "docs/how-to/admin-ui.md": EMBEDDED,
    "docs/how-to/audit.md": started_with("docs/how-to/audit.md") + AUDITED,
    "docs/how-to/deploy.md": "",
    "docs/how-to/faults.md": "",
    "docs/how-to/http.md": "",
    "docs/how-to/look-inside.md": EMBEDDED,
    "docs/how-to/metrics.md": EMBEDDED,
    "docs/how-to/rest-gateway.md": started_with("docs/how-to/rest-gateway.md"),
    "docs/how-to/write-a-plugin.md": EMBEDDED,
    "examples/plugins/chaos/README.md": "",
    "examples/plugins/echo_api/README.md": "",
    "examples/plugins/schema_guard/README.md": "",
}
# Blocks that the text of a page gives a file name.
FILES = {
    ("examples/plugins/chaos/README.md", "toml"): "rules.toml",
    ("examples/plugins/schema_guard/README.md", "json"): "schemas/orders.json",
}
NEEDED = {"docs/how-to/audit.md": "kcat"}
REPLACED = {
    "make -C trio-kafka wheel": ": the wheel is built by test_install_guide.py",
    "pip install examples/plugins/": ": `write_files` leaves the package where Python finds it",
    # What a person looks at for some seconds.
    "trio-kafka top --times 3": "trio-kafka top --times 3 --interval 0.2",
    "trio-kafka record --at http://127.0.0.1:9644/admin --seconds 5": (
        "trio-kafka record --at http://127.0.0.1:9644/admin --seconds 1"
    ),
}


@pytest.fixture(scope="module", autouse=True)
def isolated() -> None:
    if not can_isolate():
        pytest.skip("unshare gives no network namespace here: install util-linux and iproute2")


def write_files(page: str, directory: Path) -> None:
    """Write the files of a page: blocks whose first line names one, plugins, rules, schemas."""
    for code_block in blocks(ROOT / page):
        name, _, rest = code_block.text.partition("\n")
        if (named := re.fullmatch(r"# ([\w.]+)", name)) is not None:
            (directory / named[1]).write_text(rest)
    if page == "docs/how-to/write-a-plugin.md":
        plugin = next(block.text for block in blocks(ROOT / page) if block.language == "python")
        (directory / "keeper.py").write_text(plugin)
        info = directory / "keeper-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: keeper\nVersion: 1\n")
        (info / "entry_points.txt").write_text("[trio_kafka.plugins]\nkeeper = keeper:keeper\n")
    if page.startswith("examples/plugins/"):
        Example(Path(page).parent.name).install(directory)
        (directory / "examples").symlink_to(ROOT / "examples")
        (directory / "schemas").mkdir()
    for code_block in blocks(ROOT / page):
        if (named := FILES.get((page, code_block.language))) is not None:
            (directory / named).write_text(code_block.text)


def test_every_page_with_shell_blocks_is_run_by_a_test() -> None:
    pages = BEFORE.keys() | ELSEWHERE.keys()

    assert {str(path) for path in PAGES} == pages
    for place in ELSEWHERE.values():
        assert (ROOT / re.split(r"[ :]", place)[0]).exists(), place


@pytest.mark.slow
@pytest.mark.timeout(150)
@pytest.mark.parametrize("page", BEFORE)
def test_shell_blocks_of_a_page_run_unchanged(page: str, tmp_path: Path) -> None:
    if (program := NEEDED.get(page)) is not None and shutil.which(program) is None:
        pytest.skip(f"{program} is not installed: apt-get install {program}")
    write_files(page, tmp_path)

    printed = run_page(
        ROOT / page, tmp_path, before=BEFORE[page], replaced=REPLACED, path=str(tmp_path)
    )

    assert len(printed) == len(shell_blocks(ROOT / page))
    if page == "docs/how-to/rest-gateway.md":
        [shown] = [block.text for block in blocks(ROOT / page) if block.language == "json"]
        assert json.loads(printed[0]) == json.loads(shown)
    if page == "docs/how-to/write-a-plugin.md":
        assert re.search(r"^keeper +ready", printed[0], re.MULTILINE)
        assert "generation 2 serves" in printed[1]
    if page == "docs/how-to/faults.md":
        rows = [line.split() for line in printed[2].splitlines()]
        # Added, waited for, listed, removed: two of eight requests pass, then each third fails.
        assert [row[2] for row in rows if row[0] == "leader-moves"] == ["0", "3", "3", "3"]
    if page == "examples/plugins/chaos/README.md":
        assert "leaders-move" in printed[0]
    if page == "examples/plugins/echo_api/README.md":
        assert printed[0].startswith("0: >hello\n0: >hello (echo-client)\n")
    if page == "examples/plugins/schema_guard/README.md":
        assert "ready" in printed[0]
    if page == "docs/how-to/metrics.md":
        assert "kafka_server_" in printed[0]
