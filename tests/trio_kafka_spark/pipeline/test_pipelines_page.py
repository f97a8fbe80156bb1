"""docs/how-to/pipelines.md: its shell blocks run as they stand, in a network of their own.

`make pipeline` and the page's own broker take the same port, so each has a run of its own.
"""

import re
from pathlib import Path

import pytest

from tests.project.shell_pages import can_isolate, run_blocks, shell_blocks
from tests.project.tree import ROOT

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(500)]
TRY, INSTALL, PROGRESS, INIT, DEFINE = shell_blocks(ROOT / "docs" / "how-to" / "pipelines.md")
LIMIT_S = 400.0  # a session of Spark starts in some seconds, or in a minute beside other tests
# In a process group of its own: `make` would leave the broker behind.
IN_GROUP = """set -m
make pipeline > served.log 2>&1 &
group=$!
set +m
trap 'kill -- -$group; wait' EXIT
until grep -q "broker started" served.log || ! kill -0 $group; do sleep 0.05; done"""
# Ends when a query of the pipeline has finished a batch with rows.
FIRST_BATCH = r"""
until curl -s 'http://127.0.0.1:9644/admin/api/pipelines?name=word_count' | tee page.json \
    | grep -Eq '"name": ?"word count".*"batches": ?[1-9]'
do kill -0 $group; sleep 0.2; done
cat page.json
"""
TOPIC = """python3 - <<'END'
from confluent_kafka import Producer
producer = Producer({"bootstrap.servers": "127.0.0.1:9092"})
for number in range(20):
    producer.produce("orders", str(number), key=f"customer-{number % 5}")
assert producer.flush(20) == 0
END"""


@pytest.fixture(autouse=True)
def isolated() -> None:
    if not can_isolate():
        pytest.skip("unshare gives no network namespace here: install util-linux and iproute2")


def clone(directory: Path) -> None:
    """Make a clone of links, whose environment is the one of these tests."""
    for name in ("Makefile", "examples", "pyproject.toml", "requirements"):
        (directory / name).symlink_to(ROOT / name)
    environment = directory / ".venv"
    environment.mkdir()
    (environment / "bin").symlink_to(ROOT / ".venv" / "bin")
    (environment / "spark.stamp").touch()


def test_make_pipeline_shows_the_first_batch_of_its_query(tmp_path: Path) -> None:
    clone(tmp_path)

    _, shown = run_blocks(
        [TRY, FIRST_BATCH], tmp_path, replaced={"make pipeline": IN_GROUP}, timeout_s=LIMIT_S
    )

    assert '"state"' in shown


@pytest.mark.long
def test_the_word_count_and_the_declarative_pipeline_of_the_page_run(tmp_path: Path) -> None:
    (tmp_path / "trio-kafka").symlink_to(ROOT)

    _, shown, _, written, defined = run_blocks(
        [INSTALL, PROGRESS, TOPIC, INIT, f"{DEFINE}ls pipelines\n"],
        tmp_path,
        replaced={'pip install "./trio-kafka[': ": the environment of these tests has it"},
        timeout_s=LIMIT_S,
    )

    assert '"word_count"' in shown
    assert "Next: trio-kafka pipeline run orders" in written
    assert re.search(r"^orders\.toml$", defined, re.MULTILINE)
    assert list((tmp_path / "orders" / "spark-warehouse" / "records").glob("*.parquet"))
