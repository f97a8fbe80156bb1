import shutil
import subprocess
from uuid import uuid4

import pytest

from trio_kafka.testing.processes import BrokerProcess

pytestmark = pytest.mark.slow


@pytest.fixture
def kcat() -> str:
    result = shutil.which("kcat")
    if result is None:
        pytest.skip("kcat is not installed")
    return result


def run(*command: str, stdin: str = "") -> str:
    done = subprocess.run(
        command, input=stdin, capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_kcat_writes_to_an_auto_created_topic_and_reads_the_records_back(
    shared_broker: BrokerProcess, kcat: str
) -> None:
    at = ["-b", shared_broker.bootstrap, "-t", f"kcat-{uuid4().hex[:12]}"]
    lines = "".join(f"key-{n}:value {n}\n" for n in range(1000))

    run(kcat, "-P", *at, "-K:", stdin=lines)

    assert run(kcat, "-C", *at, "-K:", "-o", "beginning", "-e", "-q") == lines


def test_kcat_lists_the_broker_and_its_topics(shared_broker: BrokerProcess, kcat: str) -> None:
    topic = f"kcat-{uuid4().hex[:12]}"
    run(kcat, "-P", "-b", shared_broker.bootstrap, "-t", topic, stdin="value\n")

    listed = run(kcat, "-L", "-b", shared_broker.bootstrap)

    assert f"at {shared_broker.bootstrap}" in listed
    assert f'topic "{topic}" with 1 partitions' in listed


def test_kcat_reads_from_an_offset_to_the_end(shared_broker: BrokerProcess, kcat: str) -> None:
    at = ["-b", shared_broker.bootstrap, "-t", f"kcat-{uuid4().hex[:12]}"]
    run(kcat, "-P", *at, stdin="".join(f"{n}\n" for n in range(100)))

    assert run(kcat, "-C", *at, "-o", "97", "-e", "-q") == "97\n98\n99\n"
    assert run(kcat, "-C", *at, "-o", "-1", "-e", "-q") == "99\n"
