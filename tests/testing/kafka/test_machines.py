"""Files that a machine keeps."""

import pytest

from tests.testing.kafka.kit import values
from trio_kafka.testing.kafka.threaded import running_broker


def test_files_in_a_real_directory_are_kept_after_the_end_of_the_broker(tmp_path):
    with running_broker(directory=str(tmp_path)) as kafka:
        kafka.produce("orders", b"a")
        with pytest.raises(ValueError, match="only files in memory lose power"):
            kafka.kill(power=True)
        kafka.kill()
        kafka.start()
    with running_broker(directory=str(tmp_path)) as kafka:
        assert values(kafka.records("orders")) == [b"a"]
