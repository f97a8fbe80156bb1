"""Names that users import from `trio_kafka` itself."""

import subprocess
import sys

import pytest

import trio_kafka
from trio_kafka.broker import Broker
from trio_kafka.testing.kafka.threaded import running_broker

IMPORTS = """
import sys, trio_kafka
assert "trio" not in sys.modules, "the names are resolved on first use"
"""


def test_package_exports_broker_and_running_broker():
    assert trio_kafka.Broker is Broker
    assert trio_kafka.running_broker is running_broker
    with pytest.raises(AttributeError, match="no attribute 'Kafka'"):
        _ = trio_kafka.Kafka


def test_import_of_the_package_imports_no_other_module():
    subprocess.run([sys.executable, "-c", IMPORTS], check=True, timeout=60)
