"""Names of the package of clients, which are imported on first use."""

import subprocess
import sys

import pytest

from trio_kafka import clients


def test_each_name_is_that_of_its_module():
    for name in clients.__all__:
        assert getattr(clients, name).__name__ == name


def test_name_that_does_not_exist_is_an_error():
    assert not hasattr(clients, "open_share_consumer")
    with pytest.raises(ImportError, match="cannot import name 'open_share_consumer'"):
        from trio_kafka.clients import open_share_consumer  # noqa: F401


@pytest.mark.slow
def test_import_of_the_package_imports_no_trio():
    program = "import sys, trio_kafka.clients; assert 'trio' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
